#pragma once
#include <array>
#include <string>

#include "core/machine/host_topology.h"
#include "core/machine/machine_spec.h"

namespace cortado {

/// The properties that decide which plan is the fastest: of the machine as plans meet it, and of the build. Numbers of
/// processors are none of them, so another binding of the same kind has the same key. 0 means not known.
struct TuningKey {
  std::string backend;
  std::string processor;  ///< its model
  std::string build;      ///< version, compiler, type
  int vector_bits = 0;
  int bf16_speed = 0;   ///< as MachineSpec
  int core_groups = 0;  ///< of this process
  int threads = 0;      ///< CPEs of a core group
  int cache_cores = 0;  ///< cores of this process that share a last-level cache, as far as there are threads for them
  i64 scratch_kib = 0;  ///< of a CPE; half of the second-level cache where there is one
  i64 cache_kib = 0;    ///< the last-level cache

  TuningKey() = default;
  /// `host` is this process's share of the node; it counts where the machine works from its caches.
  TuningKey(const MachineSpec& machine, const HostTopology::Share& host, const std::string& build);
  /// The key of an entry of version 1, whose machine is a line for people. Properties that the line lacks are not
  /// known.
  TuningKey(const std::string& backend, const std::string& machine, const std::string& build);

  bool operator<(const TuningKey& other) const;

  /// The distance to another machine, in order of importance; compare distances as arrays. Numbers differ by the
  /// logarithm of their ratio, names by 0 or 1, unknown values by 0.
  ///   0 instruction set: width of vectors, speed of bf16
  ///   1 threads and core groups
  ///   2 cores that share a last-level cache
  ///   3 scratchpad
  ///   4 last-level cache
  ///   5 processor
  ///   6 build
  ///   7 how much is not known
  using Distance = std::array<double, 8>;
  static constexpr std::size_t threads_apart = 1;  ///< a place in Distance
  Distance distance(const TuningKey& other) const;

  /// The differences for people: "threads 8 (here 2), build X (here Y)"; empty means that no known property differs.
  std::string differences(const TuningKey& other) const;
};

}  // namespace cortado
