#include "app/measure/measure.h"

#include <algorithm>
#include <limits>

#include "core/base/bf16.h"
#include "core/base/error.h"
#include "core/machine/free_memory.h"

namespace cortado {
namespace {
template <class T>
void fill(CoreGroup& group, T* to, i64 count) {
  if (group.spec().timing_only) return;
  constexpr i64 length = 65537;  // a prime, so that no power of two repeats
  std::vector<T> pattern;
  for (i64 i = 0; i < length; ++i) pattern.push_back(static_cast<T>(i % 31 - 15) / 64);
  for (i64 first = 0; first < count; first += length)
    group.copy(to + first, pattern.data(), static_cast<std::size_t>(std::min(length, count - first)) * sizeof(T));
  group.wait();  // the pattern must stand until it is copied
}
}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double milliseconds(CoreGroup& group, const std::function<void()>& work) {
  const auto before = group.record();
  work();
  const auto after = group.record();
  group.wait();
  return 1e3 * group.seconds_between(before, after);
}

double seconds_of(CoreGroup& group, const std::function<void()>& work) {
  constexpr double enough = 0.2;
  constexpr int most = 10;
  double best = milliseconds(group, work) / 1e3;
  if (group.spec().timing_only) return best;
  double total = 0;
  for (int run = 0; run < most && total < enough; ++run) {
    const double seconds = milliseconds(group, work) / 1e3;
    best = run == 0 ? seconds : std::min(best, seconds);
    total += seconds;
  }
  return best;
}

Limits limits_of(CoreGroup& group) {
  Limits limits{group.spec().peak_flops, group.spec().bandwidth};
  if (limits.flops > 0 && limits.bandwidth > 0) return limits;
  const Limits measured = measure_limits(group);
  if (limits.flops == 0) limits.flops = measured.flops;
  if (limits.bandwidth == 0) limits.bandwidth = measured.bandwidth;
  return limits;
}

double roofline_share(const Limits& limits, double flops, double bytes, double seconds) {
  return seconds > 0 ? std::max(flops / limits.flops, bytes / limits.bandwidth) / seconds : 0;
}

i64 free_memory(const MachineSpec& spec) {
  constexpr i64 unbounded = std::numeric_limits<i64>::max();
  if (!spec.host_memory || spec.timing_only) return unbounded;
  return free_host_memory();
}

void fill_with_numbers(CoreGroup& group, float* to, i64 count) { fill(group, to, count); }
void fill_with_numbers(CoreGroup& group, double* to, i64 count) { fill(group, to, count); }

template <class T>
ClusterMemory numbers(CoreGroup& group, i64 count) {
  const i64 bytes = count * static_cast<i64>(sizeof(T));
  // Memory that a system promises may not be there when it is written.
  if (bytes > free_memory(group.spec()))
    throw Error("", "needs " + std::to_string(bytes >> 20) + " MB more memory than is free", "use a smaller --batch");
  ClusterMemory memory(group, static_cast<std::size_t>(bytes));
  fill(group, memory.as<T>(), count);
  return memory;
}
template ClusterMemory numbers<float>(CoreGroup& group, i64 count);
template ClusterMemory numbers<double>(CoreGroup& group, i64 count);
template ClusterMemory numbers<bf16>(CoreGroup& group, i64 count);

}  // namespace cortado
