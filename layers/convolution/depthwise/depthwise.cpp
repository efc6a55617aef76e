#include "layers/convolution/depthwise/depthwise.h"

#include <algorithm>

#include "core/machine/integers.h"
#include "core/machine/planned.h"
#include "layers/convolution/depthwise/programs.h"
#include "layers/convolution/planning.h"

namespace cortado {
namespace {

/// A band's buffers stay in a cache near the core: so much of it where channels are copied, else a quarter.
constexpr i64 near_bytes = 512 * 1024;
/// Rows go out together while they are in the nearest cache.
constexpr i64 piece_bytes = 16 * 1024;

}  // namespace

template <bool forward, class T>
static void book(DepthwiseSum<forward, T>& p, PlanBuilder& builder) {
  // A band may begin anywhere between two strides, hence one row more than its length suggests.
  const i64 rows = p.rows_read(0, p.cut.band).count() + (forward ? 0 : 1),
            values = rows * p.cols_read().count() * block_channels;
  p.from_buf = builder.tile<T>("values", values, 1);
  if (p.copies > 1) p.copies_buf = builder.tile<float>("copies of channels", p.copies * values, 1);
  p.w_buf = builder.tile<float>("weights", p.copies * p.s.kh * p.s.kw * block_channels, 1);
  if (p.streams)
    p.to_buf = builder.tile<T>("results", p.piece * p.width() * block_channels, 1);
  else
    p.to_buf = book_out_lanes<T>(builder, forward ? p.s.dst : p.s.src, "results", p.piece * p.width());
  p.left_buf = builder.tile<float>("sums of a band", 2 * block_channels, 1);
  p.sums_buf = builder.line<float>("sums of outputs", 2 * block_channels, 1);
  book(p.map, block_channels, builder);
}

template <class T>
static void book(DepthwiseWeightGradient<T>& p, PlanBuilder& builder) {
  const i64 values = p.s.rows_under(p.cut.band) * p.cols_read() * block_channels;
  p.x_buf = builder.tile<T>("inputs", values, 1);
  if (p.copies > 1) p.copies_buf = builder.tile<float>("copies of channels", p.copies * values, 1);
  p.dy_buf = builder.tile<T>("gradients of outputs", p.cut.band * p.cols() * block_channels, 1);
  p.sums_buf = builder.line<float>("sums", p.copies * p.taps() * block_channels, 1);
}

static void book(DepthwiseGradientSums& p, PlanBuilder& builder) {
  p.sums_buf = builder.line<float>("sums of a share", p.taps * block_channels, 1);
  p.old_buf = builder.tile<float>("gradients of weights", p.taps * block_channels, 1);
  p.dw_buf = builder.tile<float>("new gradients of weights", p.taps * block_channels, 1);
}

static void book(TurnGroups& p, PlanBuilder& builder) {
  p.from_buf = builder.line<float>("weights", p.copies * p.taps, Depth::two);
  p.to_buf = builder.line<float>("turned weights", p.copies * p.taps, 1);
}

namespace {

/// Rows that go out together, of a band of an array in blocks.
template <bool forward, class T>
void choose_piece(DepthwiseSum<forward, T>& p) {
  const i64 row = p.width() * block_channels * i64{sizeof(T)}, rows = std::max<i64>(2, piece_bytes / row / 2 * 2);
  p.piece = p.writes_blocks() ? std::min(p.cut.band, rows) : p.cut.band;
}
template <class T>
void choose_piece(DepthwiseWeightGradient<T>&) {}

/// The largest band whose buffers stay near the core, with enough lines for all CPEs.
template <class Program>
void choose_band(const MachineSpec& spec, Program& p, i64 height, i64 others) {
  MachineSpec near = spec;
  near.scratch_bytes = std::min(spec.scratch_bytes, p.copies > 1 ? near_bytes : near_bytes / 4);
  near.lines_in_scratch = true;
  p.cut.height = height;
  p.cut.band = ceil_div(height, std::min(height, ceil_div(i64{2} * spec.cpes, others)));
  choose_piece(p);
  shrink(p.cut.band, height, [&] {
    choose_piece(p);
    return !fits(near, p);
  });
  choose_piece(p);
}

template <bool forward, class T>
void plan_sum(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionPlan& plan) {
  DepthwiseSum<forward, T> program{};
  program.s = s.sizes(s.mb);
  program.copies = s.group_ic();
  program.cut = {s.mb, s.ic, 1, 1};
  program.streams = spec.outgrows_cache((forward ? s.dst_image() : s.src_image()) * s.mb * i64{sizeof(T)});
  choose_band(spec, program, program.height(), s.mb * program.cut.blocks());
  if (forward && s.dst == Layout::nchw16c) plan.partial_sums = s.mb * program.cut.bands();
  plan.maps = forward;
  auto sums = planned(spec, program, program.cut.lines(), plan.refused);
  sums.plan.streams = program.streams;
  TurnGroups turn{};
  turn.channels = s.ic, turn.copies = s.group_ic(), turn.taps = s.kh * s.kw;
  const bool turns = !forward && turn.copies > 1;
  if (turns) plan.workspace = turn.channels * turn.copies * turn.taps;
  plan.run = [sums, turns, turned = planned(spec, turn, turn.channels, plan.refused)](
                 CoreGroup& group, const ConvolutionArguments& arg, float* workspace) {
    if (turns) launch(group, turned, [&](auto& p) { p.from = arg.w, p.to = workspace; });
    launch(group, sums, [&](auto& p) {
      p.from = forward ? arg.x_as<T>() : arg.dy_as<T>(), p.w = turns ? workspace : arg.w, p.to = arg.out_as<T>();
      p.sums = arg.sums;
      arg.map_by(p.map);
    });
  };
}

template <class T>
void plan_weight_gradient(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionPlan& plan) {
  DepthwiseWeightGradient<T> program{};
  program.s = s.sizes(s.mb);
  program.copies = s.group_ic();
  program.cut = {s.mb, s.ic, 1, 1};
  choose_band(spec, program, s.oh, s.mb * program.cut.blocks());
  const i64 items = s.mb * program.cut.bands(), blocks = program.cut.blocks();
  program.shares = std::min(items, ceil_div(i64{4} * spec.cpes, blocks));
  DepthwiseGradientSums sums{};
  sums.channels = s.ic, sums.taps = s.terms(), sums.shares = program.shares;
  plan.workspace = program.shares * blocks * sums.taps * block_channels;
  plan.sets = true;
  plan.run = [products = planned(spec, program, program.shares * blocks, plan.refused),
              total = planned(spec, sums, blocks, plan.refused)](CoreGroup& group, const ConvolutionArguments& arg,
                                                                 float* workspace) {
    launch(group, products, [&](auto& p) { p.x = arg.x_as<T>(), p.dy = arg.dy_as<T>(), p.sums = workspace; });
    launch(group, total, [&](auto& p) { p.sets = arg.sets, p.sums = workspace, p.dw = arg.out_as<float>(); });
  };
}

std::string refuse(const ConvolutionShape& s) {
  if (s.group_ic() != s.group_oc()) return "is for groups of as many output as input channels";
  if (s.group_ic() == 1) return "";
  const bool in_blocks = s.src == Layout::nchw16c && s.dst == Layout::nchw16c;
  const i64 channels = s.group_ic();
  return in_blocks && (channels == 2 || channels == 4 || channels == 8)
             ? ""
             : "is for groups of one channel, or in blocks of two, four or eight";
}

}  // namespace

ConvolutionPlan plan_depthwise(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) {
  ConvolutionPlan plan;
  plan.refused = refuse(shape);
  if (!plan.refused.empty()) return plan;
  const MachineSpec& spec = group.spec();
  with_element(shape.precision, [&](auto element) {
    using T = decltype(element);
    switch (direction) {
      case ConvolutionDirection::forward: plan_sum<true, T>(spec, shape, plan); break;
      case ConvolutionDirection::input_gradient: plan_sum<false, T>(spec, shape, plan); break;
      case ConvolutionDirection::weight_gradient: plan_weight_gradient<T>(spec, shape, plan); break;
    }
  });
  return plan;
}

}  // namespace cortado
