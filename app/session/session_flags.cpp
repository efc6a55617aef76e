#include "app/session/session_flags.h"

#include "app/command_line/shared_flags.h"

namespace cortado {

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

void add_topology(Flags& flags, TopologyRules& topology) {
  add_file(flags, "--topology", topology.places.file,
           "Text with a line per rank: its node, and its supernode; default: found out");
  add_file(flags, "--rules", topology.rules, "Rules of which collective is fastest (cortado tune --collectives)");
  flags
      .add("--network", topology.network,
           "What the models of collectives know: cached, as measured before on these hosts, or measured now; measure, "
           "anew; assume, TaihuLight's links; or a file, as the cache has them")
      .shows_default();
  flags.add("--supernode", topology.places.nodes_per_supernode, "Nodes of a supernode; default: all in one").positive();
}

}  // namespace cortado
