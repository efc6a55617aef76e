#pragma once
#include <memory>
#include <vector>

#include "backends/kokkos/processor.h"
#include "core/base/random.h"
#include "core/machine/core_group.h"
#include "programs/kokkos_kokkos_test_programs.h"

namespace cortado::test {

/// A processor with the test programs. Kokkos keeps the thread count of the first one, which therefore has two.
inline std::unique_ptr<Processor> kokkos_processor(int core_groups = 1, int threads = 2) {
  const auto make = [](int groups, int count) {
    kokkos::Options options;
    options.core_groups = groups;
    options.threads = count;
    return kokkos::make_processor(options, kokkos::kokkos_test_programs());
  };
  static const auto first = make(1, 2);
  return make(core_groups, threads);
}

/// Small whole numbers, so that sums are exact in any order.
inline std::vector<float> whole_numbers(std::uint64_t key, i64 n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; ++i)
    v[static_cast<std::size_t>(i)] =
        static_cast<float>(static_cast<int>(random_bits(key, static_cast<std::uint64_t>(i)) % 7) - 3);
  return v;
}

/// Cluster memory filled from, and read back to, a host vector.
template <class T>
class Device {
 public:
  Device(CoreGroup& group, const std::vector<T>& host)
      : group_(group), count_(host.size()), memory_(group, host.size() * sizeof(T)) {
    group_.copy(memory_.get(), host.data(), count_ * sizeof(T));
    group_.wait();
  }
  T* get() const { return memory_.as<T>(); }
  std::vector<T> read() const {
    std::vector<T> host(count_);
    group_.copy(host.data(), memory_.get(), count_ * sizeof(T));
    group_.wait();
    return host;
  }

 private:
  CoreGroup& group_;
  std::size_t count_;
  ClusterMemory memory_;
};

}  // namespace cortado::test
