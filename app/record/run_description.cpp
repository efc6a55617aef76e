#include "app/record/run_description.h"

#include <google/protobuf/stubs/common.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <initializer_list>
#include <map>

#include "app/build_info.h"
#include "app/session/backend.h"
#include "app/start/environment.h"
#include "app/start/log_header.h"
#include "app/start/start_files.h"
#include "comm/mpi_library.h"
#include "core/base/file.h"
#include "core/formats/prototxt.h"
#include "core/net/passes/net_text.h"
#include "core/solver/solver_parameter.h"

namespace cortado {
namespace {

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

std::string now_in_words() {
  char text[40] = {};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

/// This process's command line, as the system keeps it.
std::string own_command() {
  std::vector<std::string> words;
  std::string word;
  for (const char c : read_file("/proc/self/cmdline")) {
    if (c != '\0') {
      word += c;
      continue;
    }
    words.push_back(word);
    word.clear();
  }
  return command_text(words);
}

OrderedJson libraries(const Session& session) {
  OrderedJson all = {{"MPI", mpi_library()}, {"HDF5", hdf5_version()}};
  if (*build_info::kokkos != '\0') all["Kokkos"] = build_info::kokkos;
  for (const auto& [name, version] : backend_software()) all[name] = version;
  if (MatrixLibrary* const library = session.group.library()) all["matrix products"] = library->name();
  all["protobuf"] = google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION);
  return all;
}

/// A net without values: files of weights may hold some.
std::string net_text(caffe::NetParameter net) {
  for (auto& layer : *net.mutable_layer()) layer.clear_blobs();
  return to_text(net);
}

/// The data sets of a net's layers, by what they hold.
void add_data_sets(const std::string& of, const caffe::NetParameter& net, OrderedJson& sets) {
  for (const auto& layer : net.layer()) {
    StartFields fields;
    add_data(layer, layer.name(), fields);
    if (fields.size() < 4 || fields[0].value.empty()) continue;  // its reader will say why
    OrderedJson set = {{"net", of}, {"layer", layer.name()}};
    for (const auto* source : {&layer.data_param().source(), &layer.hdf5_data_param().source(),
                               &layer.image_data_param().source(), &layer.window_data_param().source()})
      if (!source->empty()) set["source"] = *source;
    set["samples"] = std::stoll(fields[0].value);
    set["shapes"] = fields[1].value;
    set["digest_of_labels"] = fields[2].value;
    set["digest_of_samples"] = fields[3].value;
    sets.push_back(set);
  }
}

OrderedJson processor_of(const Session& session) {
  const MachineSpec& spec = session.group.spec();
  return {{"name", spec.name}, {"description", spec.description}, {"threads", spec.cpes}};
}
}  // namespace

OrderedJson environment_that_matters(char** environment) {
  const std::initializer_list<const char*> starts = {
      "OMP_",   "GOMP_",   "KMP_",     "LIBOMP_", "OPENBLAS_",       "BLIS_",      "MKL_",   "KOKKOS_",
      "CUDA_",  "NVIDIA_", "CUBLAS_",  "CUDNN_",  "HDF5_",           "MPI_",       "MPIR_",  "MPICH_",
      "HYDRA_", "FI_",     "UCX_",     "OMPI_",   "I_MPI_",          "MV2_",       "SLURM_", "PBS_",
      "LSB_",   "FLUX_",   "CORTADO_", "GLOG_v",  "LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_"};
  const std::initializer_list<const char*> secrets = {"TOKEN", "SECRET", "PASSW", "KEY", "JWT", "CREDENTIAL"};
  std::map<std::string, std::string> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string line = *environment, name = line.substr(0, line.find('='));
    const auto begins = [&](const char* start) { return starts_with(name, start); };
    const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
    if (name.size() == line.size() || std::none_of(starts.begin(), starts.end(), begins)) continue;
    if (std::any_of(secrets.begin(), secrets.end(), has)) continue;
    found[name] = line.substr(name.size() + 1);
  }
  return found;
}

OrderedJson describe_run(const Session& session, const caffe::SolverParameter& parameter, const RunStart& start) {
  OrderedJson run;
  run["format"] = 1;
  run["started"] = now_in_words();
  run["version"] = build_info::version;
  run["commit"] = build_info::commit;
  run["build"] = {{"compiler", build_info::compiler},
                  {"type", build_info::type},
                  {"architecture", build_info::architecture},
                  {"backend", build_info::backend}};
  run["libraries"] = libraries(session);
  run["command"] = own_command();
  std::error_code unknown;
  run["folder"] = std::filesystem::current_path(unknown).string();
  run["environment"] = environment_that_matters(environ);
  run["waiting"] = describe_waiting();
  run["ranks"] = session.job.size();
  run["core_groups"] = session.processor->core_groups();
  run["processor"] = processor_of(session);
  run["hosts"] = start.hosts;
  for (const auto& [name, value] : {std::pair<const char*, const std::string&>{"exchange", start.exchange},
                                    {"codec", start.codec},
                                    {"allreduce", start.allreduce}})
    if (!value.empty()) run[name] = value;
  run["seed"] = seed_of(parameter);
  if (!start.snapshot.empty()) run["snapshot"] = {{"file", start.snapshot}, {"content", content_of(start.snapshot)}};
  if (!start.weights.empty()) run["weights"] = {{"files", start.weights}, {"content", contents_of(start.weights)}};

  caffe::SolverParameter solver = parameter;
  solver.clear_net_param();
  solver.clear_train_net_param();
  solver.clear_test_net_param();
  run["solver"] = to_text(solver);
  OrderedJson nets = OrderedJson::object(), sets = OrderedJson::array();
  const auto add = [&](const std::string& name, const NamedNet& named) {
    const caffe::NetParameter net = filter_layers(named.net);
    nets[name] = net_text(net);
    add_data_sets(name, net, sets);
  };
  add("train", training_net(parameter));
  const auto tests = test_nets(parameter);
  for (std::size_t i = 0; i < tests.size(); ++i) add("test " + std::to_string(i), tests[i]);
  run["nets"] = nets;
  run["data"] = sets;
  return run;
}

}  // namespace cortado
