#include "app/start/start_fields.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>

#include "app/build_info.h"
#include "app/measure/net_sets.h"
#include "app/session/session.h"
#include "app/start/start_files.h"
#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/rules.h"
#include "core/solver/solver_parameter.h"

namespace cortado {
namespace {
using Fields = std::vector<StartField>;

/// Names of fields that say where files are; what lies there is compared.
bool says_where(const std::string& name) {
  static const std::set<std::string> names = {"source",    "root_folder", "mean_file",       "file_name", "net",
                                              "train_net", "test_net",    "snapshot_prefix", "weights"};
  return names.count(name) > 0;
}

/// The fields of a message that have other values than the default, as "a.b[2].c".
void add_message(const google::protobuf::Message& message, const std::string& of, const std::string& before,
                 Fields& fields) {
  using google::protobuf::FieldDescriptor;
  const auto* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> given;
  reflection->ListFields(message, &given);
  const std::unique_ptr<google::protobuf::Message> defaults(message.New());
  const auto text_of = [](const google::protobuf::Message& from, const FieldDescriptor* field, int index) {
    std::string text;
    google::protobuf::TextFormat::PrintFieldValueToString(from, field, index, &text);
    return text;
  };
  for (const FieldDescriptor* const field : given) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && says_where(field->name())) {
      if (field->name() == "mean_file" || (field->name() == "source" && before.find("infogain") != std::string::npos))
        fields.push_back({of, before + field->name(), content_of(reflection->GetString(message, field))});
      continue;
    }
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const int index = field->is_repeated() ? i : -1;
      const std::string name =
          before + field->name() + (field->is_repeated() ? "[" + std::to_string(i) + "]" : std::string());
      if (is_message) {
        add_message(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                         : reflection->GetMessage(message, field),
                    of, name + ".", fields);
        continue;
      }
      const std::string value = text_of(message, field, index);
      if (index >= 0 || value != text_of(*defaults, field, index)) fields.push_back({of, name, value});
    }
  }
}

void add_net(const caffe::NetParameter& unfiltered, const std::string& which, Fields& fields) {
  caffe::NetParameter net = filter_layers(unfiltered);
  fields.push_back({"net", which + "number of layers", std::to_string(net.layer_size())});
  for (int i = 0; i < net.layer_size(); ++i) {
    const std::string layer = which + "layer '" + net.layer(i).name() + "': ";
    fields.push_back({"net", layer + "place", std::to_string(i)});
    add_message(net.layer(i), "net", layer, fields);
  }
  for (const auto& layer : net.layer()) add_data(layer, which + "layer '" + layer.name() + "'", fields);
  net.clear_layer();
  add_message(net, "net", which, fields);
}

void add_solver(const Options& options, Fields& fields) {
  caffe::SolverParameter solver;
  read_solver_for(options, solver);
  caffe::SolverParameter own = solver;
  own.clear_net_param();
  own.clear_train_net_param();
  own.clear_test_net_param();
  add_message(own, "solver", "", fields);
  add_net(training_net(solver).net, "", fields);
  const auto tests = test_nets(solver);
  for (std::size_t i = 0; i < tests.size(); ++i) add_net(tests[i].net, "test net " + std::to_string(i) + ": ", fields);
  if (options.weights.empty() && options.snapshot.empty())
    for (const std::string& files : solver.weights()) fields.push_back({"weights", "weights", content_of(files)});
}

void add_build(Fields& fields) {
  using namespace build_info;
  for (const auto& [name, value] : {std::pair<const char*, const char*>{"version", version},
                                    {"commit", commit},
                                    {"backend", backend},
                                    {"architecture", architecture},
                                    {"compiler", compiler},
                                    {"build type", type}})
    fields.push_back({"build", name, std::string("\"") + value + "\""});
}

/// What single verbs read.
void add_own_files(const Options& options, Fields& fields) {
  const auto& c = options.classify;
  const auto add = [&](const std::string& name, const std::string& file) {
    if (!file.empty()) fields.push_back({name, name, content_of(file)});
  };
  add("--mean_file", c.mean_file);
  add("--labels", c.labels);
  for (const auto& image : c.images) add("image " + image, image);
  add("--machine", options.predict.machine);
  add("--with", options.compare.with);
  add("FROM", options.upgrade.from);
  if (options.verb == "convert" && !options.convert.from.empty()) add_source(options.convert, fields);
  for (const auto& set : options.bench.sets) {
    if (options.bench.kind == "io") {
      add_set(set, "--set " + set, fields);
      continue;
    }
    caffe::NetParameter net;
    try {
      read_set(set, 0, net);
    } catch (const Error&) { continue; }  // some kinds of bench have sets of other kinds
    add_net(net, "--set " + set + ": ", fields);
  }
}

std::string contents_of(const std::string& files) {
  std::istringstream all(files);
  std::string text;
  for (std::string file; std::getline(all, file, ',');) text += (text.empty() ? "" : ", ") + content_of(file);
  return text;
}
}  // namespace

std::vector<StartField> start_fields(const Options& options) {
  Fields fields;
  add_build(fields);
  for (const auto& [flag, value] : options.given) fields.push_back({"command line", flag, "\"" + value + "\""});
  fields.push_back({"--topology", "--topology", content_of(options.topology)});
  fields.push_back({"--rules", "--rules", content_of(options.rules)});
  fields.push_back({"--tuning", "--tuning", content_of(options.tuning)});
  if (!options.solver.empty()) add_solver(options, fields);
  if (!options.model.empty()) {
    caffe::NetParameter net;
    const bool tests =
        options.verb == "test" || options.verb == "extract" || options.verb == "classify" || options.phase == "TEST";
    read_net_for(options, options.model, tests ? Phase::test : Phase::train, net);
    add_net(net, "", fields);
  }
  fields.push_back({"weights", "weights", contents_of(options.weights)});
  fields.push_back({"state", "snapshot", content_of(options.snapshot)});
  add_own_files(options, fields);
  return fields;
}

void agree_on_start(const MpiJob& job, const Options& options) {
  if (job.size() == 1) return;
  require_same(job.replicas(), start_fields(options));
}

}  // namespace cortado
