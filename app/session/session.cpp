#include "app/session/session.h"

#include "app/session/backend.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/known_net.h"
#include "layers/all_layers.h"

namespace cortado {

namespace {
BackendOptions backend_options(const MpiJob& job, const Options& options) {
  BackendOptions backend;
  // Verbs that do not train on all core groups use one.
  backend.core_groups = options.verb == "train" || options.verb == "bench" ? options.core_groups : 1;
  backend.cpus = job.own_cpus();
  backend.devices = parse_devices(options.devices);
  backend.devices.local_rank = job.local_rank();
  backend.devices.local_ranks = job.local_size();
  backend.timing_only = options.timing_only;
  backend.profile = options.profile;
  return backend;
}

bool needs_shapes_only(const std::string& verb) {
  return verb == "check" || verb == "time" || verb == "tune" || verb == "draw";
}
}  // namespace

Session::Session(const MpiJob& its_job, const Options& options)
    : job(its_job),
      processor(make_processor(backend_options(its_job, options))),
      group(processor->group(0)),
      layers(all_layers()),
      sources(!needs_shapes_only(options.verb), options.shape),
      precision(options.precision == "bf16" ? Precision::bf16 : Precision::fp32) {}

NetOptions Session::net_options() const {
  NetOptions options;
  options.group = &group;
  options.layers = &layers;
  options.sources = &sources;
  options.sinks = &sinks;
  options.writer = job.replicas().rank();
  options.writers = job.replicas().size();
  options.precision = precision;
  return options;
}

void read_solver_for(const Options& options, caffe::SolverParameter& solver) {
  read_solver(options.solver, solver);
  auto& state = *solver.mutable_train_state();
  state.set_level(options.level);
  for (const auto& stage : options.stages) state.add_stage(stage);
  if (options.stages.empty()) return;
  // Stages hold for test nets as well: they are other phases of one net. Caffe's flag reaches the training net alone.
  while (solver.test_state_size() < solver.test_iter_size()) solver.add_test_state();
  for (auto& test : *solver.mutable_test_state())
    for (const auto& stage : options.stages) test.add_stage(stage);
}

void read_net_for(const Options& options, const std::string& file, Phase phase, caffe::NetParameter& net) {
  read_known_net(file, net, all_layers());
  auto& state = *net.mutable_state();
  state.set_phase(phase == Phase::train ? caffe::TRAIN : caffe::TEST);
  state.set_level(options.level);
  for (const auto& stage : options.stages) state.add_stage(stage);
}

}  // namespace cortado
