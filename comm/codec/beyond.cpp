#include "comm/codec/beyond.h"

#include <algorithm>

#include "comm/codec/programs.h"

namespace cortado {

std::vector<bool> any_beyond(CoreGroup& group, const std::vector<ClusterValues>& sets, float limit) {
  std::vector<i64> begins = {0};  // of each set's lines
  std::vector<RowLines> cuts;
  for (const ClusterValues& set : sets) {
    cuts.push_back({1, set.count, line_elements(group.spec(), set.count, 3)});
    begins.push_back(begins.back() + cuts.back().lines());
  }
  if (begins.back() == 0) return std::vector<bool>(sets.size());
  const ClusterMemory found(group, static_cast<std::size_t>(begins.back()) * sizeof(float));
  for (std::size_t s = 0; s < sets.size(); ++s) {
    if (sets[s].count == 0) continue;
    PlanBuilder book(group.spec());
    const codec::Beyond program{reads(book, "values", sets[s].data, cuts[s]),
                                writes(book, "beyond", found.as<float>() + begins[s], RowLines::whole(cuts[s].lines())),
                                limit};
    group.launch(program, book.plan(cuts[s].lines()));
  }
  std::vector<float> lines(static_cast<std::size_t>(begins.back()));
  group.copy(lines.data(), found.get(), lines.size() * sizeof(float));
  group.wait();
  std::vector<bool> any;
  for (std::size_t s = 0; s < sets.size(); ++s)
    any.push_back(
        std::any_of(lines.begin() + begins[s], lines.begin() + begins[s + 1], [](float f) { return f != 0; }));
  return any;
}

}  // namespace cortado
