#include "backends/sunway/costs.h"

#include "backends/sunway/port.h"

namespace cortado::sunway {

MachineSpec machine_spec(const Costs& costs) {
  MachineSpec spec;
  spec.name = "sw26010";
  spec.description = "SW26010";
  spec.cpes = port_cpes;
  spec.mesh_rows = port_mesh_rows;
  spec.mesh_cols = port_mesh_cols;
  spec.scratch_bytes = port_scratch_bytes;
  spec.lines_in_scratch = true;
  spec.simd_bytes = 16;  // 256-bit registers hold four floats, each as a double
  spec.clock_hz = costs.hz;
  spec.peak_flops = 742.4e9;
  spec.bandwidth = costs.bandwidth;
  spec.transfers = costs.transfers;
  spec.launch_seconds = costs.spawn / costs.hz;
  spec.transfer_latency = costs.transfer_latency / costs.hz;
  spec.multiply = {costs.block_rows,         costs.block_vectors, costs.vector_lanes,
                   costs.arithmetic_latency, costs.loop_start,    true};
  return spec;
}

}  // namespace cortado::sunway
