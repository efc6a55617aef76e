#include "layers/permute/permuted_copy.h"

#include <algorithm>

#include "core/base/error.h"
#include "layers/permute/programs.h"

namespace cortado {
static_assert(most_permuted_axes <= move_axes, "programs move all axes");
namespace {

struct Axis {
  i64 size, from, to;  // as in MovedAxes
};

/// In the order of the destination, without axes of one value; those that lie behind each other in both arrays are one.
std::vector<Axis> moved_axes(const Shape& shape, const std::vector<int>& order) {
  std::vector<i64> pitch(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) pitch[d - 1] = pitch[d] * shape[d];
  std::vector<Axis> axes;
  for (const int of : order) {
    const auto d = static_cast<std::size_t>(of);
    if (shape[d] == 1) continue;
    if (!axes.empty() && axes.back().from == shape[d] * pitch[d]) {
      axes.back().size *= shape[d];
      axes.back().from = pitch[d];
    } else {
      axes.push_back({shape[d], pitch[d], 0});
    }
  }
  i64 to = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    axis->to = to;
    to *= axis->size;
  }
  return axes;
}

/// As programs take them, behind axes of one value.
MovedAxes behind_ones(const std::vector<Axis>& axes) {
  MovedAxes all{};
  for (int d = 0; d < move_axes; ++d) {
    const int at = d - (move_axes - static_cast<int>(axes.size()));
    const Axis axis = at < 0 ? Axis{1, 0, 0} : axes[static_cast<std::size_t>(at)];
    all.size[d] = axis.size, all.from[d] = axis.from, all.to[d] = axis.to;
  }
  return all;
}

i64 product(const std::vector<Axis>& axes, std::size_t count) {
  i64 n = 1;
  for (std::size_t d = 0; d < count; ++d) n *= axes[d].size;
  return n;
}

/// Tiles that hold as many rows as columns, or more of one where there are few of the other.
void choose_tile(const MachineSpec& spec, TurnPlanes& p) {
  constexpr i64 most = 64;  // rows that a cache keeps while their columns are walked
  i64 edge = most;
  while (edge > 1 && 3 * edge * edge * i64{sizeof(float)} > spec.scratch_bytes) edge /= 2;
  const i64 rows = p.axes.size[TurnPlanes::row_axis], cols = p.axes.size[TurnPlanes::col_axis];
  p.tile_cols = std::min(cols, edge);
  p.tile_rows = std::min(rows, edge * edge / p.tile_cols);
  p.tile_cols = std::min(cols, edge * edge / p.tile_rows);
}

}  // namespace

void permuted_copy(CoreGroup& group, const Shape& shape, const std::vector<int>& order, const float* from, float* to) {
  if (count_of(shape) == 0) return;
  std::vector<Axis> axes = moved_axes(shape, order);
  if (axes.empty()) axes.push_back({1, 1, 1});
  require(axes.size() <= move_axes, "a permutation has few enough axes");
  PlanBuilder book(group.spec());
  if (axes.back().from == 1) {
    MoveLines p{behind_ones(axes), product(axes, axes.size() - 1), 1, from, to, {}, {}};
    p.block = line_elements(group.spec(), p.width(), 3);
    p.from_buf = book.line<float>("from", p.block, Depth::two);
    p.to_buf = book.line<float>("to", p.block, 1);
    group.launch(p, book.plan(p.lines()));
    return;
  }
  // Planes are turned one by one, so any axis may stand beside the last one.
  const auto inner = std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.from == 1; });
  std::rotate(inner, inner + 1, axes.end() - 1);
  TurnPlanes p{behind_ones(axes), product(axes, axes.size() - 2), 1, 1, from, to, {}, {}};
  choose_tile(group.spec(), p);
  p.from_buf = book.line<float>("from", p.tile_rows * p.tile_cols, Depth::two);
  p.to_buf = book.line<float>("to", p.tile_rows * p.tile_cols, 1);
  group.launch(p, book.plan(p.lines()));
}

}  // namespace cortado
