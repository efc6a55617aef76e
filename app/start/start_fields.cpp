#include "app/start/start_fields.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>

#include "app/build_info.h"
#include "core/formats/caffe.pb.h"
#include "core/net/passes/net_text.h"
#include "core/solver/solver_parameter.h"

namespace cortado {
namespace {
using Fields = StartFields;

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
      if (field->name() == "snapshot_prefix") {  // its folder may be a node's own
        const std::string prefix = reflection->GetString(message, field);
        fields.push_back({of, "name of snapshot_prefix", prefix.substr(prefix.rfind('/') + 1)});
      }
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
}  // namespace

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

void add_solver(const caffe::SolverParameter& solver, Fields& fields) {
  caffe::SolverParameter own = solver;
  own.clear_net_param();
  own.clear_train_net_param();
  own.clear_test_net_param();
  add_message(own, "solver", "", fields);
  add_net(training_net(solver).net, "", fields);
  const auto tests = test_nets(solver);
  for (std::size_t i = 0; i < tests.size(); ++i) add_net(tests[i].net, "test net " + std::to_string(i) + ": ", fields);
  for (const std::string& files : solver.weights()) fields.push_back({"weights", "weights", content_of(files)});
}

StartFields start_fields(const Command& command) {
  Fields fields;
  add_build(fields);
  const auto add = [&](const std::string& name, const std::string& value) {
    fields.push_back({"command line", name, "\"" + value + "\""});
  };
  add("the command", command.name);
  const char* const isa = std::getenv("CORTADO_ISA");
  fields.push_back({"environment", "CORTADO_ISA", isa != nullptr ? "\"" + std::string(isa) + "\"" : "not set"});
  for (const GivenFlag& flag : command.given)
    if (flag.compared != Compared::never) add(flag.name, flag.compared == Compared::text ? flag.text : "a file");
  for (const AddFields& add_to : command.add_fields) add_to(fields);
  return fields;
}

void agree_on_start(const MpiJob& job, const Command& command) {
  if (job.size() == 1) return;
  require_same(job.replicas(), start_fields(command));
}

}  // namespace cortado
