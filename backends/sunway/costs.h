#pragma once
#include <string>
#include <vector>

#include "core/machine/machine_spec.h"

namespace cortado::sunway {

/// The figures of a Sunway machine's core group. Costs are in cycles of its clock.
struct Costs {
  std::string name;   ///< "sw26010", "sw26010pro"
  std::string title;  ///< for people

  int core_groups = 0;
  int scratch_bytes = 0;  ///< of a CPE, for programs
  double hz = 0;
  double peak_flops = 0;  ///< in single precision

  // Transfers. Each block of a transfer occupies the memory controller, which all CPEs and the MPE share, for as long
  // as the measured bandwidth of its size says; a transfer arrives `transfer_latency` after its last block.
  double transfer_issue = 0;  ///< of the CPE: writing the descriptor
  double transfer_latency = 0;
  std::vector<MachineSpec::Transfer> transfers;
  double bandwidth = 0;      ///< bytes/s that long transfers tend to
  int request_bytes = 0;     ///< what memory writes at once
  double partial_put = 0;    ///< more for a block that is put and ends within a request
  double mpe_bandwidth = 0;  ///< bytes/s of copies by the MPE

  // Register communication; nothing on machines with RMA.
  double message_latency = 0;
  int send_depth = 0, receive_depth = 0;  ///< entries of the FIFOs

  // RMA; nothing on machines with register communication.
  bool has_rma = false;
  double rma_issue = 0, rma_latency = 0;
  double rma_bytes = 0;  ///< a cycle, that leave a CPE, and that come to it

  // The CPE's two pipelines: P0 for arithmetic, P1 for loads, stores, messages.
  int vector_lanes = 0;        ///< of floats and of doubles
  bool widens_single = false;  ///< products of single precision are summed in double
  double arithmetic_latency = 0, division = 0;
  double loop_start = 0;                  ///< of a lane loop, or of a block of sums: prologue and pipeline drain
  double line_start = 0;                  ///< of an operation on data: addresses and calls
  double unaligned_load = 0;              ///< of a vector across the boundary of one: two loads and a merge
  int block_rows = 0, block_vectors = 0;  ///< sums held in registers by the multiply

  // Launches.
  double spawn = 0;  ///< athread_spawn and athread_join, MPE and cluster
  double barrier = 0;
};

/// The worth of a figure of a machine.
enum class Origin {
  published,  ///< by who made the machine, or wrote programs for it
  measured,   ///< on the machine, by somebody else
  assumed     ///< no source is known
};
const char* to_string(Origin origin);

/// A figure of a machine, and its source.
struct Figure {
  std::string name, value;
  Origin origin;
  std::string source;
};

/// A machine: its figures as numbers, and each with its source. Data of machines.cpp; docs/design/sunway-model.md tells
/// what they mean.
struct MachineDescription {
  Costs costs;
  std::vector<Figure> figures;
};

/// The description of that name. Throws ConfigError for a name that no machine has.
const MachineDescription& machine_description(const std::string& name);
std::vector<std::string> machine_names();

/// The core group that these costs describe, for planners.
MachineSpec machine_spec(const Costs& costs);

}  // namespace cortado::sunway
