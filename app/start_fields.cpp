#include "app/start_fields.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "app/build_info.h"
#include "app/session.h"
#include "core/base/random.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/rules.h"
#include "core/solver/solver_parameter.h"

namespace cortado {
namespace {
using Fields = std::vector<StartField>;

std::string digest_text(std::uint64_t digest) {
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

std::uint64_t add_to(std::uint64_t digest, const void* bytes, std::size_t count) {
  const auto* const all = static_cast<const unsigned char*>(bytes);
  std::uint64_t word = 0;
  std::size_t i = 0;
  for (; i + sizeof word <= count; i += sizeof word) {
    std::copy_n(all + i, sizeof word, reinterpret_cast<unsigned char*>(&word));
    digest = mix64(digest ^ word);
  }
  for (; i < count; ++i) digest = mix64(digest ^ all[i]);
  return mix64(digest ^ count);
}

/// Of a file's content; of one beyond 256 MB, of pieces from all of it. Empty: there is none that can be read.
std::string content_of(const std::string& file) {
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return "";
  std::ifstream in(file, std::ios::binary);
  const auto bytes = static_cast<i64>(std::filesystem::file_size(file, error));
  if (!in || error) return "";
  constexpr i64 piece = 1 << 20, most_pieces = 256;
  const i64 pieces = (bytes + piece - 1) / piece, read = std::min(pieces, most_pieces);
  std::vector<char> buffer(piece);
  std::uint64_t digest = static_cast<std::uint64_t>(bytes);
  for (i64 i = 0; i < read; ++i) {
    in.seekg(i * (pieces - 1) / std::max<i64>(1, read - 1) * piece);
    in.read(buffer.data(), piece);
    digest = add_to(digest, buffer.data(), static_cast<std::size_t>(in.gcount()));
    in.clear();
  }
  return "a file of " + std::to_string(bytes) + " bytes with digest " + digest_text(digest);
}

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
  return fields;
}

std::vector<StartField> data_fields(const std::string& which, const DataSet& set) {
  Fields fields;
  const std::string data = "data set", before = which + ": ";
  fields.push_back({data, before + "number of samples", std::to_string(set.samples())});
  for (const auto& field : set.fields())
    fields.push_back({data, before + "shape of " + field.name,
                      to_string(field.sample_shape) + " of type " + std::to_string(static_cast<int>(field.stored))});
  std::vector<i64> some;
  const i64 read = std::min<i64>(8, set.samples());
  for (i64 i = 0; i < read; ++i) some.push_back(i * (set.samples() - 1) / std::max<i64>(1, read - 1));
  std::vector<Values> values;
  std::uint64_t digest = 0;
  if (!some.empty()) set.read(some.data(), static_cast<i64>(some.size()), values);
  for (const Values& one : values) digest = add_to(digest, one.bytes.data(), one.bytes.size());
  fields.push_back({data, before + "digest of some", digest_text(digest)});
  return fields;
}

void agree_on_start(const MpiJob& job, const Options& options) {
  if (job.size() == 1) return;
  require_same(job.replicas(), start_fields(options));
}

std::function<void(const DataSet&)> agree_on_data(const MpiJob& job) {
  if (job.size() == 1) return {};
  return [&job, number = std::make_shared<int>(0)](const DataSet& set) {
    require_same(job.replicas(), data_fields("data set " + std::to_string(++*number), set));
  };
}

}  // namespace cortado
