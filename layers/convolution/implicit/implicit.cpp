#include <algorithm>

#include "core/base/error.h"
#include "core/machine/estimate.h"
#include "core/machine/parts.h"
#include "layers/convolution/candidates.h"
#include "layers/convolution/gradient_parts.h"
#include "layers/convolution/implicit/programs.h"

namespace cortado {
namespace {

/// swCaffe's implicit plan (section IV-B2), blocking on width, rows and both kinds of channels. The input gradient runs
/// as forward convolutions of the output gradient with turned weights: one at stride 1; at stride s one for every s-th
/// row and column of inputs, which meet the same part of the kernel.
class ImplicitConvolution : public ConvolutionCandidate {
 public:
  std::string name() const override { return "implicit"; }
  std::string refuse(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  i64 workspace(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  double estimate(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  void run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
           const ConvolutionArguments& arguments, float* workspace) const override;
};

void book(ImplicitForward& p, PlanBuilder& builder, const ImplicitTiles& t) {
  p.tile = t;
  p.x_buf = builder.operand("pixels", t.ic * p.s.rows_under(t.rows) * p.s.cols_under(t.cols), 4, p.depth);
  p.w_buf = builder.operand("weights", t.oc * t.ic * p.s.kh * p.s.kw, 4, p.depth);
  p.acc_buf = builder.tile("sums", t.oc * t.rows * t.cols * 4, t.sums);
}

void book(ImplicitWeightGradient& p, PlanBuilder& builder, const ImplicitTiles& t) {
  p.tile = t;
  p.x_buf = builder.operand("pixels", t.ic * p.s.rows_under(t.rows) * p.s.cols_under(t.cols), 4, p.depth);
  p.dy_buf = builder.operand("gradients", t.oc * t.rows * t.cols, 4, p.depth);
  p.acc_buf = builder.tile("sums", t.oc * t.ic * p.s.kh * p.s.kw * 4, t.sums);
}

template <class Program>
bool fits(const MachineSpec& spec, Program program, const ImplicitTiles& t) {
  PlanBuilder builder(spec);
  book(program, builder, t);
  return builder.fits();
}

/// Tiles as large as fit, halving the largest dimension until they do; empty tiles (oc 0) if even the smallest do not.
template <class Program>
ImplicitTiles largest_tiles(const MachineSpec& spec, const Program& program, ImplicitTiles t) {
  while (!fits(spec, program, t)) {
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

/// Seconds in which all CPEs bring `channels` channels of rows x cols pixels each; whole rows follow each other in
/// memory.
double stage_pixels(const MachineSpec& spec, i64 channels, i64 rows, i64 cols, i64 width) {
  const double cpes = spec.mesh_rows * spec.mesh_cols, bytes = 4.0 * static_cast<double>(std::min(cols, width));
  return cols == width ? transfer_seconds(spec, cpes * static_cast<double>(channels), bytes * static_cast<double>(rows))
                       : transfer_seconds(spec, cpes * static_cast<double>(channels * rows), bytes);
}

double estimate(const MachineSpec& spec, const ImplicitForward& p, const ImplicitTiles& t) {
  const auto& s = p.s;
  const i64 halo_rows = s.rows_under(t.rows), halo_cols = s.cols_under(t.cols), taps = s.kh * s.kw;
  const double cpes = spec.mesh_rows * spec.mesh_cols;
  TileShape shape;
  shape.m = t.oc, shape.n1 = t.rows, shape.n0 = t.cols, shape.k = t.ic;
  const double multiply = spec.mesh_cols * multiply_seconds(spec, shape, static_cast<double>(taps)) +
                          widen_seconds(spec, static_cast<double>(t.ic * (t.oc * taps + halo_rows * halo_cols)), 4);
  const double transfers =
      transfer_seconds(spec, cpes * static_cast<double>(t.oc), 4.0 * static_cast<double>(t.ic * taps)) +
      stage_pixels(spec, t.ic, halo_rows, halo_cols, s.iw);
  const i64 blocks = s.images * s.g * ceil_div(s.group_oc(), spec.mesh_rows * t.oc) *
                     ceil_div(s.oh, spec.mesh_cols * t.rows) * ceil_div(s.ow, t.cols);
  return staged_seconds(spec, t, blocks, ceil_div(s.group_ic(), spec.mesh_cols * t.ic), transfers, multiply,
                        stage_pixels(spec, t.oc, t.rows, t.cols, s.ow));
}

double estimate(const MachineSpec& spec, const ImplicitWeightGradient& p, const ImplicitTiles& t) {
  const auto& s = p.s;
  const i64 halo_rows = s.rows_under(t.rows), halo_cols = s.cols_under(t.cols), taps = s.kh * s.kw;
  const double cpes = spec.mesh_rows * spec.mesh_cols;
  TileShape shape;
  shape.m = t.oc, shape.n2 = t.ic, shape.n1 = s.kh, shape.n0 = s.kw, shape.k = t.cols;
  const double multiply =
      spec.mesh_cols * multiply_seconds(spec, shape, static_cast<double>(t.rows)) +
      widen_seconds(spec, static_cast<double>(t.oc * t.rows * t.cols + t.ic * halo_rows * halo_cols), 4);
  const double transfers =
      stage_pixels(spec, t.oc, t.rows, t.cols, s.ow) + stage_pixels(spec, t.ic, halo_rows, halo_cols, s.iw);
  const i64 blocks =
      s.g * ceil_div(s.group_oc(), spec.mesh_rows * t.oc) * ceil_div(s.group_ic(), spec.mesh_cols * t.ic);
  const i64 steps = s.images * ceil_div(s.oh, spec.mesh_cols * t.rows) * ceil_div(s.ow, t.cols);
  return staged_seconds(
      spec, t, blocks, steps, transfers, multiply,
      2 * transfer_seconds(spec, cpes * static_cast<double>(t.oc), 4.0 * static_cast<double>(t.ic * taps)));
}

/// Where the analytic model knows the machine, the tiles that it finds cheapest; else the largest.
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
            if (!fits(spec, program, t)) continue;
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

/// Why a program whose tiles were chosen cannot run: what its smallest tiles need.
template <class Program>
std::string refuse_tiles(const MachineSpec& spec, Program program) {
  if (program.tile.oc > 0) return "";
  PlanBuilder builder(spec);
  book(program, builder, {1, 1, 1, 1});
  return "one pixel of one channel " + builder.reason();
}

template <class Program>
void launch(CoreGroup& group, Program& program) {
  PlanBuilder builder(group.spec());
  book(program, builder, program.tile);
  group.launch(program, builder.plan(0));
}

TurnWeights turn_program(const ConvolutionShape& s, const GradientPart& part, PlanBuilder& book) {
  TurnWeights p{nullptr,       nullptr, s.g, s.group_oc(), s.group_ic(), s.kw, s.kh * s.kw, part.y.kernel,
                part.x.kernel, {},      {}};
  p.from_buf = book.line("kernels", p.group_oc * p.taps * 4, Depth::two);
  p.to_buf = book.line("turned kernels", p.group_oc * p.y.count * p.x.count * 4, 1);
  return p;
}

std::string refuse_input_gradient(const MachineSpec& spec, const ConvolutionShape& s) {
  for (const auto& part : gradient_parts(s)) {
    if (part.empty()) continue;
    PlanBuilder book(spec);
    turn_program(s, part, book);
    if (!book.fits()) return "turning the kernels of one input channel " + book.reason();
    const std::string reason = refuse_tiles(spec, forward_program(spec, part.shape(s)));
    if (!reason.empty()) return reason;
  }
  return "";
}

/// Inputs that no kernel position meets, at strides beyond the kernel, get zeros.
void run_input_gradient(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg, float* weights) {
  const auto parts = gradient_parts(s);
  if (std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); }))
    group.zero(arg.out_as<float>(), static_cast<std::size_t>(s.mb * s.src_image()) * sizeof(float));
  for (const auto& part : parts) {
    if (part.empty()) continue;
    PlanBuilder book(group.spec());
    TurnWeights turn = turn_program(s, part, book);
    turn.w = arg.w;
    turn.to = weights;
    group.launch(turn, book.plan(turn.g * turn.group_ic));
    ImplicitForward p = forward_program(group.spec(), part.shape(s));
    p.x = arg.dy_as<float>();
    p.w = weights;
    p.y = arg.out_as<float>() + part.first;
    p.y_plane = s.ih * s.iw, p.y_row = s.sh * s.iw, p.y_col = s.sw;
    launch(group, p);
  }
}

std::string ImplicitConvolution::refuse(CoreGroup& group, const ConvolutionShape& shape,
                                        ConvolutionDirection direction) const {
  if (const std::string reason = refuse_storage(shape); !reason.empty()) return reason;
  const MachineSpec& spec = group.spec();
  switch (direction) {
    case ConvolutionDirection::forward: return refuse_tiles(spec, forward_program(spec, shape));
    case ConvolutionDirection::weight_gradient: return refuse_tiles(spec, weight_gradient_program(spec, shape));
    case ConvolutionDirection::input_gradient: return refuse_input_gradient(spec, shape);
  }
  return "";
}

double ImplicitConvolution::estimate(CoreGroup& group, const ConvolutionShape& s,
                                     ConvolutionDirection direction) const {
  const MachineSpec& spec = group.spec();
  if (!is_modelled(spec)) return 0;
  const auto of = [&](const auto& program) { return cortado::estimate(spec, program, program.tile); };
  if (direction == ConvolutionDirection::forward) return of(forward_program(spec, s));
  if (direction == ConvolutionDirection::weight_gradient) return of(weight_gradient_program(spec, s));
  double seconds = 0;
  for (const auto& part : gradient_parts(s))
    if (!part.empty()) seconds += of(forward_program(spec, part.shape(s)));
  return seconds;
}

i64 ImplicitConvolution::workspace(CoreGroup&, const ConvolutionShape& s, ConvolutionDirection direction) const {
  return direction == ConvolutionDirection::input_gradient ? s.oc * s.terms() : 0;
}

void ImplicitConvolution::run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                              const ConvolutionArguments& arguments, float* workspace) const {
  if (direction == ConvolutionDirection::input_gradient) return run_input_gradient(group, shape, arguments, workspace);
  if (direction == ConvolutionDirection::weight_gradient) {
    ImplicitWeightGradient p = weight_gradient_program(group.spec(), shape);
    p.x = arguments.x_as<float>();
    p.dy = arguments.dy_as<float>();
    p.dw = arguments.out_as<float>();
    return launch(group, p);
  }
  ImplicitForward p = forward_program(group.spec(), shape);
  p.x = arguments.x_as<float>();
  p.w = arguments.w;
  p.y = arguments.out_as<float>();
  launch(group, p);
}

}  // namespace

std::unique_ptr<ConvolutionCandidate> make_implicit_convolution() { return std::make_unique<ImplicitConvolution>(); }

}  // namespace cortado
