#include "layers/pooling/plan.h"

#include <algorithm>

#include "core/machine/integers.h"

namespace cortado {
namespace {
/// The largest n in [1, most] that `fits`, if larger ones never fit where smaller ones do not; 1 if none does.
i64 largest(i64 most, const std::function<bool(i64)>& fits) {
  i64 good = 1;
  while (good < most) {
    const i64 middle = good + (most - good + 1) / 2;
    if (fits(middle))
      good = middle;
    else
      most = middle - 1;
  }
  return good;
}

template <class Program>
Planned<Program> planned(const MachineSpec& spec, const PoolShape& shape, int height, int width,
                         void (*book)(PlanBuilder&, const PoolShape&, const PlaneCut&, Program&)) {
  Planned<Program> result;
  result.program.shape = shape;
  result.program.depth = Depth::two;
  PlaneCut& cut = result.program.cut;
  cut = choose_cut(spec, shape.planes, height, width,
                   [&](PlanBuilder& builder, const PlaneCut& c) { book(builder, shape, c, result.program); });
  PlanBuilder builder(spec);
  book(builder, shape, cut, result.program);
  result.plan = builder.plan(cut.lines());
  return result;
}

/// Values in the largest line of a cut, and in the largest piece of the other array that it needs.
i64 own_count(const PlaneCut& c) { return i64{c.line_planes} * c.line_rows * c.line_cols; }
i64 input_count(const PoolShape& s, const PlaneCut& c) {
  const i64 rows = c.line_rows == s.oh ? s.h : std::min(s.h, (c.line_rows - 1) * s.sh + s.kh);
  const i64 cols = c.line_cols == s.ow ? s.w : std::min(s.w, (c.line_cols - 1) * s.sw + s.kw);
  return c.line_planes * rows * cols;
}
i64 output_count(const PoolShape& s, const PlaneCut& c) {
  // A part may start anywhere between two strides, hence one more than its length suggests.
  const i64 rows = c.line_rows == s.h ? s.oh : std::min(s.oh, (c.line_rows + s.sh - 1) / s.sh + (s.kh - 1) / s.sh + 1);
  const i64 cols = c.line_cols == s.w ? s.ow : std::min(s.ow, (c.line_cols + s.sw - 1) / s.sw + (s.kw - 1) / s.sw + 1);
  return c.line_planes * rows * cols;
}

/// A plane-average program's sizes and buffers, for a plan still to be made.
template <class Program>
Planned<Program> planned_planes(const MachineSpec& spec, const PoolShape& shape) {
  Planned<Program> result;
  Program& p = result.program;
  PlanePieces& at = p.at;
  at.planes = shape.planes;
  at.count = i64{shape.h} * shape.w;
  const i64 line = line_elements(spec, at.planes * at.count, 6);
  at.piece = std::min(at.count, line);
  at.line_planes = std::min(at.planes, std::max<i64>(1, line / at.count));
  p.divisor = static_cast<float>(shape.window_size(0, 0));
  p.depth = Depth::two;
  return result;
}
}  // namespace

PlaneCut choose_cut(const MachineSpec& spec, i64 planes, int height, int width,
                    const std::function<void(PlanBuilder&, const PlaneCut&)>& book) {
  // Beyond this many bytes a line gains nothing, and where lines borrow memory it would leave the nearest cache.
  const i64 enough = 64 * spec.line_bytes;
  MachineSpec strict = spec;
  strict.lines_in_scratch = true;
  // A device's lines do not lie in the scratchpad.
  strict.scratch_bytes = spec.own_lanes > 0 && !spec.lines_in_scratch ? enough : std::min(spec.scratch_bytes, enough);
  PlaneCut cut{planes, height, width, 1, height, width};
  const auto fits = [&](int PlaneCut::*size, i64 n) {
    PlaneCut tried = cut;
    tried.*size = static_cast<int>(n);
    PlanBuilder builder(strict);
    book(builder, tried);
    return builder.fits();
  };
  const auto shrink = [&](int PlaneCut::*size, i64 most) {
    cut.*size = static_cast<int>(largest(most, [&](i64 n) { return fits(size, n); }));
  };
  // Few planes are shared between the CPEs by rows, many planes in lines of several.
  const i64 rows_each = planes < spec.cpes ? ceil_div(height * planes, spec.cpes) : height;
  if (rows_each == height && fits(&PlaneCut::line_planes, 1)) {
    const i64 worth = ceil_div(spec.line_bytes, i64{4} * height * width);
    shrink(&PlaneCut::line_planes, std::min(planes, std::max(worth, planes / (4 * spec.cpes))));
    return cut;
  }
  shrink(&PlaneCut::line_rows, rows_each);
  if (!fits(&PlaneCut::line_rows, cut.line_rows)) shrink(&PlaneCut::line_cols, width);
  return cut;
}

namespace {
/// Book the lines of a forward and of a backward program, and those of masks where it has such.
template <class Program, bool masks, class T>
void book_outputs(PlanBuilder& book, const PoolShape& s, const PlaneCut& c, Program& p) {
  p.in = book.line<T>("in", input_count(s, c), p.depth);
  p.out = book.line<T>("out", own_count(c), p.depth);
  if constexpr (masks) p.out_mask = book.line<int>("out_mask", own_count(c), p.depth);
}
template <class Program, bool masks, class T>
void book_inputs(PlanBuilder& book, const PoolShape& s, const PlaneCut& c, Program& p) {
  p.in = book.line<T>("in", output_count(s, c), p.depth);
  if constexpr (masks) p.in_mask = book.line<int>("in_mask", output_count(s, c), p.depth);
  p.out = book.line<T>("out", own_count(c), p.depth);
}
template <class Program, bool masks, class T = float>
Planned<Program> planned_outputs(const MachineSpec& spec, const PoolShape& shape) {
  return planned<Program>(spec, shape, shape.oh, shape.ow, book_outputs<Program, masks, T>);
}
template <class Program, bool masks, class T = float>
Planned<Program> planned_inputs(const MachineSpec& spec, const PoolShape& shape) {
  return planned<Program>(spec, shape, shape.h, shape.w, book_inputs<Program, masks, T>);
}
}  // namespace

Planned<MaxPoolForward> plan_max_forward(const MachineSpec& spec, const PoolShape& shape) {
  return planned_outputs<MaxPoolForward, true>(spec, shape);
}
Planned<MaxPoolBackward> plan_max_backward(const MachineSpec& spec, const PoolShape& shape) {
  return planned_inputs<MaxPoolBackward, true>(spec, shape);
}
Planned<AveragePoolForward> plan_average_forward(const MachineSpec& spec, const PoolShape& shape) {
  return planned_outputs<AveragePoolForward, false>(spec, shape);
}
Planned<AveragePoolBackward> plan_average_backward(const MachineSpec& spec, const PoolShape& shape) {
  return planned_inputs<AveragePoolBackward, false>(spec, shape);
}

template <bool largest, class T>
Planned<PoolWindowsForward<largest, T>> plan_windows_forward(const MachineSpec& spec, const PoolShape& shape) {
  return planned_outputs<PoolWindowsForward<largest, T>, largest, T>(spec, shape);
}
template Planned<PoolWindowsForward<true, float>> plan_windows_forward(const MachineSpec& spec, const PoolShape& shape);
template Planned<PoolWindowsForward<false, float>> plan_windows_forward(const MachineSpec& spec,
                                                                        const PoolShape& shape);
template Planned<PoolWindowsForward<true, bf16>> plan_windows_forward(const MachineSpec& spec, const PoolShape& shape);
template Planned<PoolWindowsForward<false, bf16>> plan_windows_forward(const MachineSpec& spec, const PoolShape& shape);
template <bool largest, class T>
Planned<PoolWindowsBackward<largest, T>> plan_windows_backward(const MachineSpec& spec, const PoolShape& shape) {
  return planned_inputs<PoolWindowsBackward<largest, T>, largest, T>(spec, shape);
}
template Planned<PoolWindowsBackward<true, float>> plan_windows_backward(const MachineSpec& spec,
                                                                         const PoolShape& shape);
template Planned<PoolWindowsBackward<false, float>> plan_windows_backward(const MachineSpec& spec,
                                                                          const PoolShape& shape);
template Planned<PoolWindowsBackward<true, bf16>> plan_windows_backward(const MachineSpec& spec,
                                                                        const PoolShape& shape);
template Planned<PoolWindowsBackward<false, bf16>> plan_windows_backward(const MachineSpec& spec,
                                                                         const PoolShape& shape);

template <bool train>
Planned<StochasticPoolForward<train>> plan_stochastic_forward(const MachineSpec& spec, const PoolShape& shape) {
  using Program = StochasticPoolForward<train>;
  return planned<Program>(spec, shape, shape.oh, shape.ow,
                          [](PlanBuilder& book, const PoolShape& s, const PlaneCut& c, Program& p) {
                            p.in = book.line<float>("in", input_count(s, c), p.depth);
                            p.out = book.line<float>("out", own_count(c), p.depth);
                            p.out_sums = book.line<float>("out_sums", own_count(c), p.depth);
                            if (train) p.out_mask = book.line<int>("out_mask", own_count(c), p.depth);
                          });
}
template Planned<StochasticPoolForward<true>> plan_stochastic_forward(const MachineSpec& spec, const PoolShape& shape);
template Planned<StochasticPoolForward<false>> plan_stochastic_forward(const MachineSpec& spec, const PoolShape& shape);

namespace {
/// The largest band of rows whose buffers stay in a cache near the core, with enough lines for all CPEs; `book` books
/// for the program's band.
template <class Program, class Book>
Planned<Program> planned_bands(const MachineSpec& spec, const PoolShape& shape, i64 height, Book book) {
  constexpr i64 near = 128 * 1024;
  Planned<Program> result;
  Program& p = result.program;
  p.shape = shape;
  p.cut = {shape.planes, height, height};
  const auto fits = [&](i64 budget) {
    MachineSpec strict = spec;
    strict.scratch_bytes = std::min(spec.scratch_bytes, budget);
    PlanBuilder builder(strict);
    book(builder, p);
    return builder.fits();
  };
  const i64 groups = ceil_div(shape.planes, PlaneLanes::lanes), parts = ceil_div(2 * spec.cpes, groups);
  p.cut.band = ceil_div(height, std::min(height, parts));
  while (p.cut.band > 1 && !fits(near))
    p.cut.band = std::min(p.cut.band - 1, ceil_div(height, ceil_div(height, p.cut.band) + 1));
  PlanBuilder builder(spec);
  book(builder, p);
  result.plan = builder.plan(p.cut.lines());
  return result;
}
}  // namespace

template <bool largest, class T>
Planned<PoolPlanesForward<largest, T>> plan_planes_forward(const MachineSpec& spec, const PoolShape& shape) {
  using Program = PoolPlanesForward<largest, T>;
  return planned_bands<Program>(spec, shape, shape.oh, [](PlanBuilder& book, Program& p) {
    p.in = book.tile<T>("in", p.input_rows() * p.shape.w * PlaneLanes::lanes, 1);
    p.out = book_out_lanes<T>(book, p.shape.layout, "out", p.cut.band * p.shape.ow);
    if (largest) p.out_mask = book_out_lanes<int>(book, p.shape.layout, "out_mask", p.cut.band * p.shape.ow);
  });
}
template Planned<PoolPlanesForward<true, float>> plan_planes_forward(const MachineSpec& spec, const PoolShape& shape);
template Planned<PoolPlanesForward<true, bf16>> plan_planes_forward(const MachineSpec& spec, const PoolShape& shape);
template Planned<PoolPlanesForward<false, float>> plan_planes_forward(const MachineSpec& spec, const PoolShape& shape);
template Planned<PoolPlanesForward<false, bf16>> plan_planes_forward(const MachineSpec& spec, const PoolShape& shape);

template <bool largest, class T>
Planned<PoolPlanesBackward<largest, T>> plan_planes_backward(const MachineSpec& spec, const PoolShape& shape) {
  using Program = PoolPlanesBackward<largest, T>;
  return planned_bands<Program>(spec, shape, shape.h, [](PlanBuilder& book, Program& p) {
    p.in = book.tile<T>("in", p.window_rows() * p.shape.ow * PlaneLanes::lanes, 1);
    if (largest) p.in_mask = book.tile<int>("in_mask", p.window_rows() * p.shape.ow * PlaneLanes::lanes, 1);
    p.out = book_out_lanes<T>(book, p.shape.layout, "out", p.cut.band * p.shape.w);
  });
}
template Planned<PoolPlanesBackward<true, float>> plan_planes_backward(const MachineSpec& spec, const PoolShape& shape);
template Planned<PoolPlanesBackward<true, bf16>> plan_planes_backward(const MachineSpec& spec, const PoolShape& shape);
template Planned<PoolPlanesBackward<false, float>> plan_planes_backward(const MachineSpec& spec,
                                                                        const PoolShape& shape);
template Planned<PoolPlanesBackward<false, bf16>> plan_planes_backward(const MachineSpec& spec, const PoolShape& shape);

template <class T>
Planned<PlaneAverageForward<T>> plan_plane_average_forward(const MachineSpec& spec, const PoolShape& shape) {
  auto result = planned_planes<PlaneAverageForward<T>>(spec, shape);
  PlaneAverageForward<T>& p = result.program;
  PlanBuilder book(spec);
  p.in = book.line<float>("in", p.at.line_planes * p.at.piece, p.depth);
  p.out = book.line<float>("out", p.at.line_planes, Depth::one);
  result.plan = book.plan(p.at.groups());
  return result;
}

template <class T>
Planned<PlaneAverageBackward<T>> plan_plane_average_backward(const MachineSpec& spec, const PoolShape& shape) {
  auto result = planned_planes<PlaneAverageBackward<T>>(spec, shape);
  PlaneAverageBackward<T>& p = result.program;
  PlanBuilder book(spec);
  p.in = book.line<float>("in", p.at.line_planes, p.depth);
  p.out = book.line<float>("out", p.at.line_planes * p.at.piece, p.depth);
  result.plan = book.plan(p.at.groups() * p.at.pieces());
  return result;
}

template Planned<PlaneAverageForward<float>> plan_plane_average_forward(const MachineSpec& spec,
                                                                        const PoolShape& shape);
template Planned<PlaneAverageForward<bf16>> plan_plane_average_forward(const MachineSpec& spec, const PoolShape& shape);
template Planned<PlaneAverageBackward<float>> plan_plane_average_backward(const MachineSpec& spec,
                                                                          const PoolShape& shape);
template Planned<PlaneAverageBackward<bf16>> plan_plane_average_backward(const MachineSpec& spec,
                                                                         const PoolShape& shape);

}  // namespace cortado
