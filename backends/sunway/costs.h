#pragma once
#include "core/machine/machine_spec.h"

namespace cortado::sunway {

/// The costs of operations on an SW26010 core group, in cycles of 1.45 GHz. docs/design/sunway-model.md tells the
/// origin of each number and how it was checked.
struct Costs {
  double hz = 1.45e9;

  // Transfers. Each block of a transfer occupies the memory controller, which all CPEs and the MPE share, for as long
  // as the measured bandwidth of its size says; a transfer arrives `transfer_latency` after its last block.
  double transfer_issue = 25;      ///< of the CPE: writing the descriptor
  double transfer_latency = 1330;  ///< memory to LDM, from a contended round trip of 8 bytes taking 2.2 us
  std::vector<MachineSpec::Transfer> transfers = {
      {32, 6.3e9},   {64, 12.0e9},  {96, 10.1e9},  {128, 13.4e9}, {192, 19.3e9},  {224, 8.7e9},   {256, 17.6e9},
      {320, 21.0e9}, {448, 11.5e9}, {512, 21.1e9}, {768, 22.4e9}, {1024, 23.5e9}, {2048, 24.6e9}, {3072, 25.3e9}};
  double bandwidth = 28e9;       ///< what long transfers tend to
  double mpe_bandwidth = 9.9e9;  ///< of copies by the MPE

  // Register communication.
  double message_latency = 11;
  int send_depth = 6, receive_depth = 4;  ///< entries of the FIFOs

  // The CPE's two pipelines: P0 for arithmetic, P1 for loads, stores, messages.
  int vector_lanes = 4;
  double arithmetic_latency = 7, division = 34;
  double loop_start = 20;  ///< of a lane loop, or of a block of sums: prologue and pipeline drain
  double line_start = 20;  ///< of an operation on data: addresses and calls
  double load_latency = 4;
  double unaligned_load = 3;              ///< of a vector across a 32-byte boundary: two loads and a merge
  int block_rows = 4, block_vectors = 4;  ///< sums held in registers by the multiply

  // Launches.
  double spawn = 15000;  ///< athread_spawn and athread_join, MPE and cluster
  double barrier = 60;
};

/// The core group that these costs describe, for planners.
MachineSpec machine_spec(const Costs& costs);

}  // namespace cortado::sunway
