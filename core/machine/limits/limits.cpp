#include "core/machine/limits/limits.h"

#include <algorithm>

#include "core/machine/launch_elementwise.h"
#include "core/machine/limits/programs.h"

namespace cortado {
namespace {

/// Seconds of the quickest of a few runs of `work`, after one that warms up. A run that takes long is enough by itself.
template <class Work>
double best_seconds(CoreGroup& group, Work work) {
  constexpr double long_enough = 0.5;
  double best = 0, total = 0;
  for (int i = 0; i < 4 && total < long_enough; ++i) {
    const auto start = group.record();
    work();
    const auto end = group.record();
    group.wait();
    const double seconds = group.seconds_between(start, end);
    total += seconds;
    if (i <= 1 || seconds < best) best = seconds;
  }
  return best;
}

/// Multiplies the work until a run takes long enough for launches and interruptions not to matter.
double measure_flops(CoreGroup& group) {
  constexpr i64 length = 512;
  constexpr double long_enough = 20e-3;
  const i64 lines = group.spec().cpes;
  const ClusterMemory y(group, static_cast<std::size_t>(lines * length) * sizeof(float));
  PlanBuilder book(group.spec());
  MultiplyAdds program{writes(book, "y", y.as<float>(), RowLines::whole(lines, length)), 1, 0.999f, 0.001f};
  const Plan plan = book.plan(lines);
  for (double best = 0;; program.repeats *= 4) {
    const double seconds = best_seconds(group, [&] { group.launch(program, plan); });
    const i64 terms = MultiplyAdds::chains * MultiplyAdds::rounds * lines * length * program.repeats;
    best = std::max(best, 2.0 * static_cast<double>(terms) / seconds);
    if (seconds >= long_enough) return best;
  }
}

double measure_bandwidth(CoreGroup& group) {
  constexpr i64 n = i64{16} << 20;
  const i64 bytes = n * i64{sizeof(float)};
  const ClusterMemory a(group, static_cast<std::size_t>(bytes)), b(group, static_cast<std::size_t>(bytes)),
      y(group, static_cast<std::size_t>(bytes));
  for (const ClusterMemory* memory : {&a, &b, &y}) group.zero(memory->get(), memory->bytes());
  return 3.0 * static_cast<double>(bytes) / best_seconds(group, [&] {
           elementwise(group, n, Triad{3.0f}, from(a.as<const float>(), b.as<const float>()), to(y.as<float>()));
         });
}

}  // namespace

Limits measure_limits(CoreGroup& group) { return {measure_flops(group), measure_bandwidth(group)}; }

}  // namespace cortado
