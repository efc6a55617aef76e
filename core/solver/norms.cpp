#include "core/solver/norms.h"

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

std::vector<double> sums_of_squares(CoreGroup& group, const std::vector<ClusterValues>& sets) {
  std::vector<RowLines> cuts;
  i64 lines = 0;
  for (const ClusterValues& values : sets) {
    cuts.push_back({1, values.count, line_elements(group.spec(), values.count, 3)});
    lines += cuts.back().lines();
  }
  const auto sums = Storage::make(group, lines);
  float* next = sums->data;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    launch(group, sets[i].data, cuts[i], next);
    next += cuts[i].lines();
  }
  std::vector<float> on_host(static_cast<std::size_t>(lines));
  group.copy(on_host.data(), sums->data, on_host.size() * sizeof(float));
  group.wait();

  std::vector<double> totals;
  auto sum = on_host.begin();
  for (const RowLines& s : cuts) {
    double total = 0;
    for (const auto end = sum + s.lines(); sum != end; ++sum) total += double{*sum};
    totals.push_back(total);
  }
  return totals;
}

}  // namespace cortado
