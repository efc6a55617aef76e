#include "core/solver/norms.h"

#include "core/solver/programs.h"
#include "core/tensor/blob.h"

namespace cortado {
namespace {
SumOfSquares program_for(CoreGroup& group, const ClusterValues& values) {
  SumOfSquares program;
  program.values = values.data;
  program.s = {1, values.count, line_elements(group.spec(), values.count, 3)};
  return program;
}

void launch(CoreGroup& group, SumOfSquares program) {
  if (program.s.width == 0) return;
  PlanBuilder book(group.spec());
  program.in = book.line<float>("values", program.s.block, program.depth);
  program.out = book.line<float>("sum", 1, 1);
  group.launch(program, book.plan(program.s.lines()));
}
}  // namespace

std::vector<double> sums_of_squares(CoreGroup& group, const std::vector<ClusterValues>& sets) {
  std::vector<SumOfSquares> programs;
  i64 lines = 0;
  for (const ClusterValues& values : sets) {
    programs.push_back(program_for(group, values));
    lines += programs.back().s.lines();
  }
  const auto sums = Storage::make(group, lines);
  float* next = sums->data;
  for (SumOfSquares& program : programs) {
    program.sums = next;
    next += program.s.lines();
    launch(group, program);
  }
  std::vector<float> on_host(static_cast<std::size_t>(lines));
  group.copy(on_host.data(), sums->data, on_host.size() * sizeof(float));
  group.wait();

  std::vector<double> totals;
  auto sum = on_host.begin();
  for (const SumOfSquares& program : programs) {
    double total = 0;
    for (const auto end = sum + program.s.lines(); sum != end; ++sum) total += double{*sum};
    totals.push_back(total);
  }
  return totals;
}

}  // namespace cortado
