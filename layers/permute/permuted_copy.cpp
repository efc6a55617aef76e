#include "layers/permute/permuted_copy.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/machine/launch_copy_lines.h"
#include "layers/permute/programs.h"

namespace cortado {
static_assert(most_permuted_axes <= most_axes, "programs cut all axes");
namespace {

struct Axis {
  i64 size, from, to;  // values lie so far apart in the source and in the destination
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

/// The axes of one of the arrays as programs take them, behind axes of one value.
Axes axes_of(const std::vector<Axis>& axes, i64 Axis::*pitch) {
  Axes all{};
  for (int d = 0; d < most_axes; ++d) {
    const int at = d - (most_axes - static_cast<int>(axes.size()));
    const Axis axis = at < 0 ? Axis{1, 0, 0} : axes[static_cast<std::size_t>(at)];
    all.size[d] = axis.size, all.pitch[d] = axis.*pitch;
  }
  return all;
}

i64 product(const std::vector<Axis>& axes, std::size_t count) {
  i64 n = 1;
  for (std::size_t d = 0; d < count; ++d) n *= axes[d].size;
  return n;
}

/// Planes in tiles that hold as many rows as columns, or more of one where there are few of the other.
PlaneTiles tiles_of(const MachineSpec& spec, const Axes& axes, i64 planes) {
  constexpr i64 most = 64;  // rows that a cache keeps while their columns are walked
  i64 edge = most;
  while (edge > 1 && 3 * edge * edge * i64{sizeof(float)} > spec.scratch_bytes) edge /= 2;
  const i64 rows = axes.size[PlaneTiles::row_axis], cols = axes.size[PlaneTiles::col_axis];
  const i64 tile_rows = std::min(rows, edge * edge / std::min(cols, edge));
  return {axes, planes, tile_rows, std::min(cols, edge * edge / tile_rows)};
}

}  // namespace

void permuted_copy(CoreGroup& group, const Shape& shape, const std::vector<int>& order, const float* from, float* to) {
  if (count_of(shape) == 0) return;
  std::vector<Axis> axes = moved_axes(shape, order);
  if (axes.empty()) axes.push_back({1, 1, 1});
  require(axes.size() <= most_axes, "a permutation has few enough axes");
  if (axes.back().from == 1) {
    const i64 width = axes.back().size;
    const RowLines rows{product(axes, axes.size() - 1), width, line_elements(group.spec(), width, 3)};
    return copy_lines(group, from, AxisLines{rows, axes_of(axes, &Axis::from)}, to, rows);
  }
  // Planes are turned one by one, so any axis may stand beside the last one.
  const auto inner = std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.from == 1; });
  std::rotate(inner, inner + 1, axes.end() - 1);
  const i64 planes = product(axes, axes.size() - 2);
  PlanBuilder book(group.spec());
  const TurnPlanes p{reads(book, "from", from, tiles_of(group.spec(), axes_of(axes, &Axis::from), planes)),
                     writes(book, "to", to, tiles_of(group.spec(), axes_of(axes, &Axis::to), planes))};
  group.launch(p, book.plan(p.to.lines()));
}

}  // namespace cortado
