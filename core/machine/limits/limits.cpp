#include "core/machine/limits/limits.h"

#include <algorithm>

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
  MultiplyAdds program{y.as<float>(), lines, length, 1, 0.999f, 0.001f, book.line<float>("y", length, 1)};
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
  const i64 length = line_elements(group.spec(), n, 6);
  PlanBuilder book(group.spec());
  const Triad program{a.as<float>(),
                      b.as<float>(),
                      y.as<float>(),
                      {1, n, length},
                      3.0f,
                      book.line<float>("a", length, Depth::two),
                      book.line<float>("b", length, Depth::two),
                      book.line<float>("y", length, Depth::two)};
  const Plan plan = book.plan((n + length - 1) / length);
  return 3.0 * static_cast<double>(bytes) / best_seconds(group, [&] { group.launch(program, plan); });
}

}  // namespace

Limits measure_limits(CoreGroup& group) { return {measure_flops(group), measure_bandwidth(group)}; }

}  // namespace cortado
