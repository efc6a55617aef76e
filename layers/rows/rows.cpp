#include "layers/rows/rows.h"

#include <algorithm>
#include <numeric>

#include "layers/rows/programs.h"

namespace cortado {

void RowPicker::pick(const std::vector<int>& index) {
  index_ = index;
  const std::size_t n = index.size();
  std::vector<int> rows(n), owners, starts;
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(), [&](int a, int b) {
    return index[static_cast<std::size_t>(a)] < index[static_cast<std::size_t>(b)];
  });
  for (std::size_t i = 0; i < n; ++i) {
    const int owner = index[static_cast<std::size_t>(rows[i])];
    if (owner < 0 || (!owners.empty() && owners.back() == owner)) continue;
    owners.push_back(owner);
    starts.push_back(static_cast<int>(i));
  }
  starts.push_back(static_cast<int>(n));
  owners_ = static_cast<i64>(owners.size());

  std::vector<int> all = index;
  all.insert(all.end(), owners.begin(), owners.end());
  all.insert(all.end(), starts.begin(), starts.end());
  all.insert(all.end(), rows.begin(), rows.end());
  const std::size_t bytes = all.size() * sizeof(int);
  group_.wait();  // earlier launches may still read the numbers
  if (bytes > numbers_.bytes()) numbers_ = ClusterMemory(group_, bytes);
  group_.copy(numbers_.get(), all.data(), bytes);
  group_.wait();
}

void RowPicker::gather(const float* from, const float* bias, i64 width, float* to) {
  const RowLines lines{picked(), width, line_elements(group_.spec(), width, 4)};
  PlanBuilder book(group_.spec());
  const GatherRows p{reads(book, "from", from, RowParts{lines}, Depth::one),
                     reads(book, "bias", bias, RowParts{lines}, Depth::one),
                     reads(book, "index", numbers_.as<const int>(), RowValues{lines}), writes(book, "to", to, lines)};
  group_.launch(p, book.plan(lines.lines()));
}

void RowPicker::sum(const float* from, i64 width, float* to) {
  const RowLines lines{owners_, width, line_elements(group_.spec(), width, 4)};
  const int *const owner = numbers_.as<int>() + picked(), *const start = owner + owners_,
                   *const row = start + owners_ + 1;
  PlanBuilder book(group_.spec());
  const SumRows p{reads(book, "owner", owner, RowValues{lines}), reads(book, "start", start, RowBounds{lines}),
                  reads(book, "row", row, RowLines::whole(picked()), Depth::one),
                  reads(book, "from", from, RowParts{lines}, Depth::one), writes(book, "to", to, RowParts{lines})};
  group_.launch(p, book.plan(lines.lines()));
}

}  // namespace cortado
