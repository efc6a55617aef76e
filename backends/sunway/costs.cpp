#include "backends/sunway/costs.h"

#include "backends/sunway/port.h"

namespace cortado::sunway {

const char* to_string(Origin origin) {
  switch (origin) {
    case Origin::published: return "published";
    case Origin::measured: return "measured";
    case Origin::assumed: return "assumed";
  }
  return "";
}

MachineSpec machine_spec(const Costs& costs) {
  MachineSpec spec;
  spec.name = costs.name;
  spec.description = costs.title;
  spec.cpes = port_cpes;
  spec.mesh_rows = port_mesh_rows;
  spec.mesh_cols = port_mesh_cols;
  spec.scratch_bytes = costs.scratch_bytes;
  spec.lines_in_scratch = true;
  spec.simd_bytes = 4 * costs.vector_lanes;  // registers hold as many floats as doubles
  spec.clock_hz = costs.hz;
  spec.peak_flops = costs.peak_flops;
  spec.bandwidth = costs.bandwidth;
  spec.transfers = costs.transfers;
  spec.launch_seconds = costs.spawn / costs.hz;
  spec.transfer_latency = costs.transfer_latency / costs.hz;
  spec.request_bytes = costs.request_bytes;
  spec.partial_put_seconds = costs.partial_put / costs.hz;
  spec.multiply = {costs.block_rows,         costs.block_vectors, costs.vector_lanes,
                   costs.arithmetic_latency, costs.loop_start,    costs.widens_single};
  if (costs.has_rma) {
    spec.multiply.receive_slots = port_rma_slots;
    spec.multiply.share_start = costs.barrier + costs.rma_issue;
    spec.multiply.share_bytes = costs.rma_bytes;
  }
  return spec;
}

}  // namespace cortado::sunway
