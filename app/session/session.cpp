#include "app/session/session.h"

#include "app/session/backend.h"
#include "app/session/instruction_set.h"
#include "app/session/verbose_processor.h"
#include "core/formats/caffe.pb.h"
#include "core/net/name_memory.h"
#include "core/net/passes/passes.h"
#include "core/solver/finite.h"
#include "layers/all_layers.h"

namespace cortado {

namespace {
/// What every rank's processor has.
std::optional<Isa> agreed_isa(const MpiJob& job) {
  std::optional<Isa> isa = choose_isa();
  if (!isa) return isa;
  i64 less = -static_cast<i64>(*isa);
  job.replicas().maximum(&less, 1);
  return static_cast<Isa>(-less);
}

BackendOptions backend_options(const MpiJob& job, const SessionOptions& options) {
  BackendOptions backend;
  backend.core_groups = options.core_groups;
  backend.cpus = job.own_cpus();
  backend.devices = parse_devices(options.devices);
  backend.devices.local_rank = job.local_rank();
  backend.devices.local_ranks = job.local_size();
  backend.tf32 = options.multiply == "tf32" ? Tf32::all : options.multiply == "auto" ? Tf32::convolutions : Tf32::none;
  backend.isa = agreed_isa(job);
  backend.timing_only = options.timing_only;
  backend.profile = options.profile;
  backend.machine = options.simulate;
  return backend;
}
}  // namespace

Session::Session(const MpiJob& its_job, const SessionOptions& options)
    : job(its_job),
      processor(verbosely(make_processor(backend_options(its_job, options)),
                          verbose_options(its_job.rank(), its_job.size()))),
      group(processor->group(0)),
      layers(all_layers()),
      sources(!options.needs_shapes_only, options.shapes),
      precision(options.precision == "bf16" ? Precision::bf16 : Precision::fp32),
      without(options.without.begin(), options.without.end()) {
  check_without(without);
}

NetOptions Session::net_options() const {
  NetOptions options;
  static_cast<Services&>(options) = {&group, &layers, &sources, &sinks};
  options.writer = job.replicas().rank();
  options.writers = job.replicas().size();
  options.precision = precision;
  options.without = without;
  return options;
}

SolverOptions Session::solver_options() const {
  SolverOptions options;
  static_cast<Services&>(options) = {&group, &layers, &sources, &sinks};
  options.without = without;
  options.recomputed = recomputed;
  return options;
}

void Session::take_weights(Net& net, const std::string& file) const {
  naming_memory(file, [&] {
    caffe::NetParameter weights;
    read_weights(file, &hdf5, weights);
    net.copy_trained(weights);
    require_finite_weights(net);
  });
}

}  // namespace cortado
