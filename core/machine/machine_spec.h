#pragma once
#include <string>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// A many-core processor as data (swCaffe section II-A): `core_groups` management cores, each with a compute
/// cluster of mesh_rows x mesh_cols CPEs that work out of private scratchpads. Layers and planners ask this
/// and nothing else about the machine. Rates are per core group.
struct MachineSpec {
  std::string name;         ///< "openmp", "cuda", "reference", "sw26010", "sw26010pro"
  std::string description;  ///< one line for people: processor model, threads
  int core_groups = 1;
  int cpes = 1;       ///< compute elements of one core group
  int mesh_rows = 1;  ///< rows of CPEs that share tiles in a tile program; 1 where sharing vanishes
  int mesh_cols = 1;
  i64 scratch_bytes = 0;          ///< scratchpad of one CPE (LDM; shared memory; a share of the L2 cache)
  bool lines_in_scratch = false;  ///< whether `get` and `out` occupy scratchpad; false: they borrow the memory
  bool host_memory = true;        ///< whether cluster memory is the host's, so that copies are free
  bool timing_only = false;       ///< programs run their schedule without arithmetic; memory contents mean nothing
  bool bf16 = false;              ///< whether programs may keep values as bf16
  bool tf32 = false;              ///< whether convolutions may round floats to TF32, on GPUs
  int bf16_speed = 1;             ///< terms of bf16 that are multiplied in the time of one of float
  int own_lanes = 0;              ///< lanes of a CPE that each run the program with variables of their own; 0: none do
  int simd_bytes = 4;             ///< width of one vector register, or of a warp's access
  i64 cache_bytes = 0;            ///< last-level cache between lanes and memory, 0: none, or not known
  i64 line_bytes = 2048;          ///< smallest contiguous transfer that reaches most of the bandwidth (principle 3)
  double clock_hz = 0;            ///< 0: not known
  double peak_flops = 0;          ///< single-precision flop/s, 0: not known
  double bandwidth = 0;           ///< memory bytes/s for large transfers, 0: not known
  struct Transfer {
    i64 block_bytes;
    double bytes_per_second;
  };
  std::vector<Transfer> transfers;  ///< bandwidth by block size, ascending; empty: flat
  double launch_seconds = 0;        ///< start and end of a program
  double transfer_latency = 0;      ///< seconds from the end of a transfer's last block to its arrival
  i64 request_bytes = 4;            ///< what memory writes at once
  double partial_put_seconds = 0;   ///< more for a block that is put and ends within such a request
  /// The multiply of tile programs, in cycles: blocks of rows x vectors sums stay in registers, each term of a block
  /// takes a cycle a vector but at least `latency`, each block `start` more.
  struct Multiply {
    int rows = 4, vectors = 4, lanes = 4;
    double latency = 7, start = 20;
    bool widens_single = false;  ///< single-precision operands become doubles in the scratchpad before they are shared
    int receive_slots = 0;       ///< slots into which operands are shared; 0: they pass through registers
    double share_start = 0;      ///< of a step with receive slots: CPEs agree, and owners send
    double share_bytes = 0;      ///< bytes a cycle that come to a CPE's receive slots
  };
  Multiply multiply;

  /// True if results of that size are gone from the caches before anything reads them.
  bool outgrows_cache(i64 bytes) const { return cache_bytes > 0 && 2 * bytes > cache_bytes; }

  /// True if so many tiles give work to every CPE, in shares that differ little.
  bool is_spread(i64 tiles) const { return tiles % cpes == 0 || tiles >= 8 * cpes; }

  /// True if each CPE works alone, on memory that it reaches through caches.
  bool works_from_caches() const { return mesh_rows * mesh_cols == 1 && host_memory; }
};

}  // namespace cortado
