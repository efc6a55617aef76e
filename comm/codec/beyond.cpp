#include "comm/codec/beyond.h"

#include <algorithm>

#include "comm/codec/programs.h"
#include "core/machine/integers.h"

namespace cortado {

std::vector<bool> any_beyond(CoreGroup& group, const std::vector<ClusterValues>& sets, float limit) {
  std::vector<i64> begins = {0};  // of each set's lines
  std::vector<i64> blocks;
  for (const ClusterValues& set : sets) {
    blocks.push_back(line_elements(group.spec(), set.count, 3, sizeof(float)));
    begins.push_back(begins.back() + ceil_div(set.count, blocks.back()));
  }
  if (begins.back() == 0) return std::vector<bool>(sets.size());
  const ClusterMemory found(group, static_cast<std::size_t>(begins.back()) * sizeof(float));
  for (std::size_t s = 0; s < sets.size(); ++s) {
    if (sets[s].count == 0) continue;
    codec::Beyond program{sets[s].data, found.as<float>() + begins[s], {1, sets[s].count, blocks[s]}, limit, {}, {}};
    PlanBuilder book(group.spec());
    program.in = book.line<float>("values", program.s.block, Depth::two);
    program.out = book.line<float>("beyond", 1, 1);
    group.launch(program, book.plan(begins[s + 1] - begins[s]));
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
