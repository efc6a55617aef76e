#include <algorithm>

#include "core/base/error.h"
#include "layers/convolution/candidates.h"
#include "layers/convolution/sizes.h"

namespace cortado {
namespace {

/// swCaffe's implicit plan (section IV-B2), blocking on width, rows and both kinds of channels. The input gradient runs
/// as a forward convolution of the output gradient with turned weights, which is one only at stride 1.
class ImplicitConvolution : public ConvolutionCandidate {
 public:
  std::string name() const override { return "implicit"; }
  std::string refuse(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  i64 workspace(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  void run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
           const ConvolutionArguments& arguments, float* workspace) const override;
};

/// The convolution whose forward is this one's input gradient at stride 1.
ConvolutionShape turned(const ConvolutionShape& s) {
  ConvolutionShape t = s;
  std::swap(t.ic, t.oc);
  std::swap(t.ih, t.oh);
  std::swap(t.iw, t.ow);
  t.ph = s.dh * (s.kh - 1) - s.ph;
  t.pw = s.dw * (s.kw - 1) - s.pw;
  return t;
}

void book(ImplicitForward& p, PlanBuilder& builder, const ImplicitTiles& t) {
  p.tile = t;
  p.x_buf = builder.operand("pixels", t.ic * p.s.rows_under(t.rows) * p.s.cols_under(t.cols), 4, p.depth);
  p.w_buf = builder.operand("weights", t.oc * t.ic * p.s.kh * p.s.kw, 4, p.depth);
  p.acc_buf = builder.tile("sums", t.oc * t.rows * t.cols * 4, 1);
}

void book(ImplicitWeightGradient& p, PlanBuilder& builder, const ImplicitTiles& t) {
  p.tile = t;
  p.x_buf = builder.operand("pixels", t.ic * p.s.rows_under(t.rows) * p.s.cols_under(t.cols), 4, p.depth);
  p.dy_buf = builder.operand("gradients", t.oc * t.rows * t.cols, 4, p.depth);
  p.acc_buf = builder.tile("sums", t.oc * t.ic * p.s.kh * p.s.kw * 4, 1);
}

/// Tiles as large as fit, halving the largest dimension until they do; empty tiles (oc 0) if even the smallest do not.
template <class Program>
ImplicitTiles choose_tiles(const MachineSpec& spec, Program program, ImplicitTiles t) {
  for (;;) {
    PlanBuilder builder(spec);
    book(program, builder, t);
    if (builder.fits()) return t;
    i64* const sizes[] = {&t.rows, &t.ic, &t.oc, &t.cols};
    i64* const largest = *std::max_element(std::begin(sizes), std::end(sizes), [](auto a, auto b) { return *a < *b; });
    if (*largest == 1) return {0, 0, 0, 0};
    *largest = (*largest + 1) / 2;
  }
}

ImplicitTiles largest_tiles(const ConvolutionShape& s) {
  return {std::min<i64>(s.group_oc(), 32), std::min<i64>(s.group_ic(), 32), std::min<i64>(s.oh, 8),
          std::min<i64>(s.ow, 64)};
}

ImplicitForward forward_program(const MachineSpec& spec, const ConvolutionShape& s) {
  ImplicitForward p{};
  p.s = sizes_of(s, s.mb);
  p.depth = Depth::two;
  p.tile = choose_tiles(spec, p, largest_tiles(s));
  return p;
}

ImplicitWeightGradient weight_gradient_program(const MachineSpec& spec, const ConvolutionShape& s) {
  ImplicitWeightGradient p{};
  p.s = sizes_of(s, s.mb);
  p.depth = Depth::two;
  p.tile = choose_tiles(spec, p, largest_tiles(s));
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

void run_forward(CoreGroup& group, const ConvolutionShape& s, const float* x, const float* w, float* y) {
  ImplicitForward p = forward_program(group.spec(), s);
  p.x = x;
  p.w = w;
  p.y = y;
  launch(group, p);
}

TurnWeights turn_program(const ConvolutionShape& s, PlanBuilder& book) {
  TurnWeights p{nullptr, nullptr, s.g, s.group_oc(), s.group_ic(), s.kh * s.kw, {}, {}};
  p.from_buf = book.line("kernels", p.group_oc * p.taps * 4, Depth::two);
  p.to_buf = book.line("turned kernels", p.group_oc * p.taps * 4, 1);
  return p;
}

std::string refuse_input_gradient(const MachineSpec& spec, const ConvolutionShape& s) {
  if (s.sh != 1 || s.sw != 1)
    return "at stride " + std::to_string(s.sh) + " x " + std::to_string(s.sw) +
           " the input gradient is not a convolution of the output gradient";
  PlanBuilder book(spec);
  turn_program(s, book);
  if (!book.fits()) return "turning the kernels of one input channel " + book.reason();
  return refuse_tiles(spec, forward_program(spec, turned(s)));
}

std::string ImplicitConvolution::refuse(CoreGroup& group, const ConvolutionShape& shape,
                                        ConvolutionDirection direction) const {
  const MachineSpec& spec = group.spec();
  switch (direction) {
    case ConvolutionDirection::forward: return refuse_tiles(spec, forward_program(spec, shape));
    case ConvolutionDirection::weight_gradient: return refuse_tiles(spec, weight_gradient_program(spec, shape));
    case ConvolutionDirection::input_gradient: return refuse_input_gradient(spec, shape);
  }
  return "";
}

i64 ImplicitConvolution::workspace(CoreGroup&, const ConvolutionShape& s, ConvolutionDirection direction) const {
  return direction == ConvolutionDirection::input_gradient ? s.oc * s.terms() : 0;
}

void ImplicitConvolution::run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                              const ConvolutionArguments& arguments, float* workspace) const {
  if (direction == ConvolutionDirection::forward)
    return run_forward(group, shape, arguments.x, arguments.w, arguments.out);
  if (direction == ConvolutionDirection::weight_gradient) {
    ImplicitWeightGradient p = weight_gradient_program(group.spec(), shape);
    p.x = arguments.x;
    p.dy = arguments.dy;
    p.dw = arguments.out;
    return launch(group, p);
  }
  PlanBuilder book(group.spec());
  TurnWeights turn = turn_program(shape, book);
  turn.w = arguments.w;
  turn.to = workspace;
  group.launch(turn, book.plan(turn.g * turn.group_ic));
  run_forward(group, turned(shape), arguments.dy, workspace, arguments.out);
}

}  // namespace

std::unique_ptr<ConvolutionCandidate> make_implicit_convolution() { return std::make_unique<ImplicitConvolution>(); }

}  // namespace cortado
