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

BackendOptions backend_options(const MpiJob& job, const SessionFlags& flags) {
  BackendOptions backend;
  backend.core_groups = flags.core_groups;
  backend.cpus = job.own_cpus();
  backend.devices = parse_devices(flags.devices);
  backend.devices.local_rank = job.local_rank();
  backend.devices.local_ranks = job.local_size();
  backend.tf32 = flags.multiply == "tf32" ? Tf32::all : flags.multiply == "auto" ? Tf32::convolutions : Tf32::none;
  backend.isa = agreed_isa(job);
  backend.timing_only = flags.timing_only;
  backend.profile = flags.profile;
  backend.machine = flags.simulate;
  return backend;
}
}  // namespace

void SessionFlags::add_core_groups(Flags& flags) {
  flags
      .add("--core-groups", core_groups,
           "Core groups of each process, which share its batch; default: what the backend has")
      .positive();
}

void SessionFlags::add_devices(Flags& flags) {
  flags
      .add("--devices", devices,
           "GPUs of this node, separated by commas, or all; a number given twice gets two core groups. Ranks of a "
           "node share them; default: each its own")
      .differs_by_rank();
  flags
      .add("--multiply", multiply,
           "How GPUs multiply floats: fp32; tf32, with operands rounded to 11 bits; auto: convolutions in tf32")
      .shows_default()
      .one_of({"auto", "fp32", "tf32"});
}

void SessionFlags::add_profile(Flags& flags) {
  flags.add("--profile", profile, "Simulator: write a timeline (Perfetto, chrome://tracing), show cycles by kernel")
      .replaces_json()
      .differs_by_rank();
  add_simulate(flags);
}

void SessionFlags::add_simulate(Flags& flags) {
  flags
      .add("--simulate", simulate,
           "Simulator: the machine, sw26010 with register communication (default) or sw26010pro with RMA")
      .one_of({"sw26010", "sw26010pro"});
}

void SessionFlags::add_simulator(Flags& flags) {
  flags.add_switch("--timing-only", timing_only, "Simulator: keep time without arithmetic");
  add_profile(flags);
}

void SessionFlags::add_shape(Flags& flags) {
  needs_shapes_only = true;
  flags.add("--shape", shapes,
            "A sample's shape, such as 3x227x227, where a data layer's source is away; of other tops than the first by "
            "name: 3x500x500,label=1x500x500");
}

void SessionFlags::add_precision(Flags& flags) {
  flags.add("--precision", precision, "How activations are stored: fp32 or bf16, as `precision` in a solver")
      .shows_default()
      .one_of({"fp32", "bf16"});
}

void SessionFlags::add_without(Flags& flags) {
  flags.add("--without", without,
            "Passes that do not rewrite the net, separated by commas: pruning, epilogues, ... (docs/design/passes.md)");
}

void SessionFlags::add_memory(Flags& flags) {
  flags
      .add("--memory", memory,
           "Bytes that a process may take, such as 8G: values between layers that would take more are made again for "
           "backward")
      .counts_bytes()
      .positive();
}

Session::Session(const MpiJob& its_job, const SessionFlags& flags)
    : job(its_job),
      processor(
          verbosely(make_processor(backend_options(its_job, flags)), verbose_options(its_job.rank(), its_job.size()))),
      group(processor->group(0)),
      layers(all_layers()),
      sources(!flags.needs_shapes_only, flags.shapes),
      precision(flags.precision == "bf16" ? Precision::bf16 : Precision::fp32),
      without(flags.without.begin(), flags.without.end()) {
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
