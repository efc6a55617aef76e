#include "layers/convolution/implicit/implicit.h"

#include <algorithm>
#include <vector>

#include "core/machine/estimate.h"
#include "core/machine/integers.h"
#include "core/machine/planned.h"
#include "layers/convolution/gradient_parts.h"
#include "layers/convolution/implicit/programs.h"

namespace cortado {

static void book(ImplicitForward& p, PlanBuilder& builder) {
  const ImplicitTiles& t = p.tile;
  p.x_buf = builder.operand<float>("pixels", t.ic * p.s.rows_under(t.rows) * p.s.cols_under(t.cols), p.depth);
  p.w_buf = builder.operand<float>("weights", t.oc * t.ic * p.s.kh * p.s.kw, p.depth);
  p.acc_buf = builder.tile<float>("sums", t.oc * t.rows * t.cols, t.sums);
}

static void book(ImplicitWeightGradient& p, PlanBuilder& builder) {
  const ImplicitTiles& t = p.tile;
  p.x_buf = builder.operand<float>("pixels", t.ic * p.s.rows_under(t.rows) * p.s.cols_under(t.cols), p.depth);
  p.dy_buf = builder.operand<float>("gradients", t.oc * t.rows * t.cols, p.depth);
  p.acc_buf = builder.tile<float>("sums", t.oc * t.ic * p.s.kh * p.s.kw, t.sums);
}

static void book(TurnWeights& p, PlanBuilder& builder) {
  p.from_buf = builder.line<float>("kernels", p.group_oc * p.taps, Depth::two);
  p.to_buf = builder.line<float>("turned kernels", p.group_oc * p.y.count * p.x.count, 1);
}

namespace {

template <class Program>
Program with_tiles(Program program, const ImplicitTiles& t) {
  program.tile = t;
  return program;
}

/// Tiles as large as fit, halving the largest dimension until they do; empty tiles (oc 0) if even the smallest do not.
template <class Program>
ImplicitTiles largest_tiles(const MachineSpec& spec, const Program& program, ImplicitTiles t) {
  while (!fits(spec, with_tiles(program, t))) {
    i64* const sizes[] = {&t.rows, &t.ic, &t.oc, &t.cols};
    i64* const largest = *std::max_element(std::begin(sizes), std::end(sizes), [](auto a, auto b) { return *a < *b; });
    if (*largest == 1) return {0, 0, 0, 0};
    *largest = (*largest + 1) / 2;
  }
  return t;
}

/// Seconds of `blocks` blocks of `steps` steps on a machine with scratchpads: of each step the longer of transfers and
/// multiply, and of each block the put, which two slots of sums hide as far as transfers leave room.
double staged_seconds(const MachineSpec& spec, const ImplicitTiles& t, i64 blocks, i64 steps, double transfers,
                      double multiply, double put) {
  const double longer = static_cast<double>(steps) * std::max(transfers, multiply);
  const double end =
      t.sums > 1 ? std::max(0.0, static_cast<double>(steps) * transfers + put - longer) : put + spec.transfer_latency;
  return spec.launch_seconds + static_cast<double>(blocks) * (longer + end) + transfers;
}

/// Seconds in which all CPEs `move` (transfer_seconds, put_seconds) `channels` channels of rows x cols pixels each;
/// whole rows follow each other in memory.
template <class Move>
double move_pixels(const MachineSpec& spec, i64 channels, i64 rows, i64 cols, i64 width, Move move) {
  const double cpes = spec.mesh_rows * spec.mesh_cols, bytes = 4.0 * static_cast<double>(std::min(cols, width));
  return cols == width ? move(spec, cpes * static_cast<double>(channels), bytes * static_cast<double>(rows))
                       : move(spec, cpes * static_cast<double>(channels * rows), bytes);
}
double stage_pixels(const MachineSpec& spec, i64 channels, i64 rows, i64 cols, i64 width) {
  return move_pixels(spec, channels, rows, cols, width, transfer_seconds);
}
double put_pixels(const MachineSpec& spec, i64 channels, i64 rows, i64 cols, i64 width) {
  return move_pixels(spec, channels, rows, cols, width, put_seconds);
}

double estimate(const MachineSpec& spec, const ImplicitForward& p, const ImplicitTiles& t) {
  const auto& s = p.s;
  const i64 halo_rows = s.rows_under(t.rows), halo_cols = s.cols_under(t.cols), taps = s.kh * s.kw;
  const double cpes = spec.mesh_rows * spec.mesh_cols;
  TileShape shape;
  shape.m = t.oc, shape.n1 = t.rows, shape.n0 = t.cols, shape.k = t.ic;
  const auto operands = static_cast<double>(t.ic * (t.oc * taps + halo_rows * halo_cols));
  const double multiply =
      shared_multiply_seconds(spec, shape, static_cast<double>(taps), 4 * operands) + widen_seconds(spec, operands, 4);
  const double transfers =
      transfer_seconds(spec, cpes * static_cast<double>(t.oc), 4.0 * static_cast<double>(t.ic * taps)) +
      stage_pixels(spec, t.ic, halo_rows, halo_cols, s.iw);
  const i64 blocks = s.images * s.g * ceil_div(s.group_oc(), spec.mesh_rows * t.oc) *
                     ceil_div(s.oh, spec.mesh_cols * t.rows) * ceil_div(s.ow, t.cols);
  return staged_seconds(spec, t, blocks, ceil_div(s.group_ic(), spec.mesh_cols * t.ic), transfers, multiply,
                        put_pixels(spec, t.oc, t.rows, t.cols, s.ow));
}

double estimate(const MachineSpec& spec, const ImplicitWeightGradient& p, const ImplicitTiles& t) {
  const auto& s = p.s;
  const i64 halo_rows = s.rows_under(t.rows), halo_cols = s.cols_under(t.cols), taps = s.kh * s.kw;
  const double cpes = spec.mesh_rows * spec.mesh_cols;
  TileShape shape;
  shape.m = t.oc, shape.n2 = t.ic, shape.n1 = s.kh, shape.n0 = s.kw, shape.k = t.cols;
  const auto operands = static_cast<double>(t.oc * t.rows * t.cols + t.ic * halo_rows * halo_cols);
  const double multiply = shared_multiply_seconds(spec, shape, static_cast<double>(t.rows), 4 * operands) +
                          widen_seconds(spec, operands, 4);
  const double transfers =
      stage_pixels(spec, t.oc, t.rows, t.cols, s.ow) + stage_pixels(spec, t.ic, halo_rows, halo_cols, s.iw);
  const i64 blocks =
      s.g * ceil_div(s.group_oc(), spec.mesh_rows * t.oc) * ceil_div(s.group_ic(), spec.mesh_cols * t.ic);
  const i64 steps = s.images * ceil_div(s.oh, spec.mesh_cols * t.rows) * ceil_div(s.ow, t.cols);
  return staged_seconds(
      spec, t, blocks, steps, transfers, multiply,
      transfer_seconds(spec, cpes * static_cast<double>(t.oc), 4.0 * static_cast<double>(t.ic * taps)) +
          put_seconds(spec, cpes * static_cast<double>(t.oc), 4.0 * static_cast<double>(t.ic * taps)));
}

/// The tiles that the analytic model finds cheapest, if it knows the machine; else the largest.
template <class Program>
ImplicitTiles choose_tiles(const MachineSpec& spec, const Program& program) {
  const ConvolutionSizes& s = program.s;
  ImplicitTiles best = {std::min<i64>(s.group_oc(), 32), std::min<i64>(s.group_ic(), 32), std::min<i64>(s.oh, 8),
                        std::min<i64>(s.ow, 64)};
  best = largest_tiles(spec, program, best);
  if (!is_modelled(spec) || best.oc == 0) return best;
  double least = estimate(spec, program, best);
  for (const i64 oc : tile_sizes(s.group_oc(), spec.mesh_rows, 4, 64))
    for (const i64 ic : tile_sizes(s.group_ic(), spec.mesh_cols, 1, 32))
      for (const i64 rows : tile_sizes(s.oh, spec.mesh_cols, 1, 8))
        for (const i64 cols : tile_sizes(s.ow, 1, 1, 128))
          for (const int sums : {1, 2}) {
            const ImplicitTiles t = {oc, ic, rows, cols, sums};
            if (!fits(spec, with_tiles(program, t))) continue;
            const double seconds = estimate(spec, program, t);
            if (seconds < least) least = seconds, best = t;
          }
  return best;
}

ImplicitForward forward_program(const MachineSpec& spec, const ConvolutionShape& s) {
  ImplicitForward p{};
  p.s = s.sizes(s.mb);
  p.y_plane = s.oh * s.ow, p.y_row = s.ow, p.y_col = 1;
  p.depth = Depth::two;
  p.tile = choose_tiles(spec, p);
  return p;
}

ImplicitWeightGradient weight_gradient_program(const MachineSpec& spec, const ConvolutionShape& s) {
  ImplicitWeightGradient p{};
  p.s = s.sizes(s.mb);
  p.depth = Depth::two;
  p.tile = choose_tiles(spec, p);
  return p;
}

/// Notes its time in `plan`, or, where not even the smallest tiles fit, what those need.
template <class Program>
Planned<Program> plan_tiles(const MachineSpec& spec, const Program& program, ConvolutionPlan& plan) {
  std::string reason;
  const bool fit = program.tile.oc > 0;
  const auto made = planned(spec, fit ? program : with_tiles(program, {1, 1, 1, 1}), 0, reason);
  if (!fit && plan.refused.empty()) plan.refused = "one pixel of one channel " + reason;
  if (fit && is_modelled(spec)) plan.estimate += estimate(spec, program, program.tile);
  return made;
}

void plan_forward(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionPlan& plan) {
  plan.run = [forward = plan_tiles(spec, forward_program(spec, s), plan)](CoreGroup& group,
                                                                          const ConvolutionArguments& arg, float*) {
    launch(group, forward, [&](auto& p) { p.x = arg.x_as<float>(), p.w = arg.w, p.y = arg.out_as<float>(); });
  };
}

void plan_weight_gradient(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionPlan& plan) {
  plan.run = [gradient = plan_tiles(spec, weight_gradient_program(spec, s), plan)](
                 CoreGroup& group, const ConvolutionArguments& arg, float*) {
    launch(group, gradient,
           [&](auto& p) { p.x = arg.x_as<float>(), p.dy = arg.dy_as<float>(), p.dw = arg.out_as<float>(); });
  };
}

void plan_input_gradient(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionPlan& plan) {
  struct Part {
    Planned<TurnWeights> turn;
    Planned<ImplicitForward> forward;
    i64 first;  ///< of its inputs
  };
  std::vector<Part> made;
  const auto parts = gradient_parts(s);
  for (const auto& part : parts) {
    if (part.empty()) continue;
    const TurnWeights turn{nullptr,       nullptr, s.g, s.group_oc(), s.group_ic(), s.kw, s.kh * s.kw, part.y.kernel,
                           part.x.kernel, {},      {}};
    std::string reason;
    const auto turned = planned(spec, turn, turn.g * turn.group_ic, reason);
    if (!reason.empty() && plan.refused.empty()) plan.refused = "turning the kernels of one input channel " + reason;
    ImplicitForward program = forward_program(spec, part.shape(s));
    program.y_plane = s.ih * s.iw, program.y_row = s.sh * s.iw, program.y_col = s.sw;
    made.push_back({turned, plan_tiles(spec, program, plan), part.first});
  }
  plan.workspace = s.oc * s.terms();
  const std::size_t zeros = leave_gaps(parts) ? static_cast<std::size_t>(s.mb * s.src_image()) * sizeof(float) : 0;
  plan.run = [made, zeros](CoreGroup& group, const ConvolutionArguments& arg, float* weights) {
    if (zeros > 0) group.zero(arg.out, zeros);
    for (const Part& part : made) {
      launch(group, part.turn, [&](auto& p) { p.w = arg.w, p.to = weights; });
      launch(group, part.forward,
             [&](auto& p) { p.x = arg.dy_as<float>(), p.w = weights, p.y = arg.out_as<float>() + part.first; });
    }
  };
}

}  // namespace

ConvolutionPlan plan_implicit(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) {
  ConvolutionPlan plan;
  plan.refused = refuse_storage(shape);
  if (!plan.refused.empty()) return plan;
  switch (direction) {
    case ConvolutionDirection::forward: plan_forward(group.spec(), shape, plan); break;
    case ConvolutionDirection::weight_gradient: plan_weight_gradient(group.spec(), shape, plan); break;
    case ConvolutionDirection::input_gradient: plan_input_gradient(group.spec(), shape, plan); break;
  }
  return plan;
}

}  // namespace cortado
