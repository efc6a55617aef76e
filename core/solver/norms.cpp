#include "core/solver/norms.h"

#include <numeric>

#include "core/solver/programs.h"
#include "core/tensor/blob.h"

namespace cortado {
namespace {
void launch(CoreGroup& group, const float* values, const RowLines& s, float* sums) {
  if (s.width == 0) return;
  PlanBuilder book(group.spec());
  const SumOfSquares program{reads(book, "values", values, s), writes(book, "sum", sums, RowLines::whole(s.lines()))};
  group.launch(program, book.plan(s.lines()));
}
}  // namespace

std::vector<double> totals_of_lines(CoreGroup& group, const std::vector<i64>& lines,
                                    const std::function<void(std::size_t, float*)>& launch) {
  const auto sums = Storage::make(group, std::accumulate(lines.begin(), lines.end(), i64{0}));
  float* next = sums->data;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    launch(i, next);
    next += lines[i];
  }
  std::vector<float> on_host(static_cast<std::size_t>(sums->count));
  group.copy(on_host.data(), sums->data, on_host.size() * sizeof(float));
  group.wait();

  std::vector<double> totals;
  auto sum = on_host.begin();
  for (const i64 count : lines) {
    double total = 0;
    for (const auto end = sum + count; sum != end; ++sum) total += double{*sum};
    totals.push_back(total);
  }
  return totals;
}

std::vector<double> sums_of_squares(CoreGroup& group, const std::vector<ClusterValues>& sets) {
  std::vector<RowLines> cuts;
  std::vector<i64> lines;
  for (const ClusterValues& values : sets) {
    cuts.push_back({1, values.count, line_elements(group.spec(), values.count, 3)});
    lines.push_back(cuts.back().lines());
  }
  return totals_of_lines(group, lines, [&](std::size_t i, float* sums) { launch(group, sets[i].data, cuts[i], sums); });
}

}  // namespace cortado
