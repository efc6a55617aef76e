#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// CPUs by their numbers in the system, as a mask of 64 to a word.
class CpuSet {
 public:
  CpuSet() = default;
  explicit CpuSet(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  void add(int cpu);
  CpuSet& operator|=(const CpuSet& other);
  bool operator==(const CpuSet& other) const;
  bool contains(int cpu) const;
  int count() const;
  /// The largest number plus one.
  int end() const;
  const std::vector<std::uint64_t>& words() const { return words_; }
  /// Ranges: "0-3,8"; "?" where there are none.
  std::string text() const;

 private:
  std::vector<std::uint64_t> words_;
};

/// The processors of a node and their caches, as hwloc finds them.
class HostTopology {
 public:
  /// This node's, read at the first call. hwloc's environment variables hold: HWLOC_XMLFILE and HWLOC_SYNTHETIC stand
  /// for another machine. Throws ConfigError where hwloc cannot read it.
  static const HostTopology& here();
  /// hwloc's short form, "package:2 l3:4 core:8 pu:2", and its XML. Both throw ConfigError.
  static HostTopology synthetic(const std::string& text);
  static HostTopology xml(const std::string& file);

  /// The processor and caches of a set of CPUs. Sizes are bytes; 0 means none, or not known.
  struct Share {
    std::string processor;  ///< "AMD EPYC (family 25, model 17)" or "unknown processor", of its first CPU
    i64 l2 = 0;             ///< the second-level cache of its first CPU
    i64 last = 0;           ///< the cache nearest to memory of its first CPU
    int cores = 0;          ///< how many it has a CPU of
    int l2_cores = 1;       ///< of these, the most that share a second-level cache
    int cache_cores = 0;    ///< of these, the most that share a last-level cache
  };
  Share share_of(const CpuSet& cpus) const;

  /// All CPUs that the node has and lets this process use.
  CpuSet cpus() const;
  /// The CPUs that the calling thread may run on.
  CpuSet own_cpus() const;
  /// The CPUs that any thread of this process may run on.
  CpuSet process_cpus() const;

 private:
  CpuSet bound(int flags) const;
  struct Handle;
  explicit HostTopology(std::shared_ptr<const Handle> handle) : handle_(std::move(handle)) {}
  std::shared_ptr<const Handle> handle_;
};

}  // namespace cortado
