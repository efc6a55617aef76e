#include <algorithm>

#include "core/base/error.h"
#include "core/machine/parts.h"
#include "layers/convolution/candidates.h"
#include "layers/convolution/gradient_parts.h"
#include "layers/convolution/programs.h"

namespace cortado {
namespace {

/// Implicit GEMM with vectors along output channels (DirectForward, DirectWeightGradient): for machines whose caches
/// make single elements as cheap to read as lines. The input gradient runs as forward convolutions, like the implicit
/// plan's.
class DirectConvolution : public ConvolutionCandidate {
 public:
  std::string name() const override { return "direct"; }
  std::string refuse(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  bool pays(const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  i64 workspace(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  void run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
           const ConvolutionArguments& arguments, float* workspace) const override;
};

/// Kernels of one pixel see an image as one row.
ConvolutionShape flattened(ConvolutionShape s) {
  if (!s.is_pointwise()) return s;
  s.iw *= s.ih, s.ow *= s.oh;
  s.ih = s.oh = 1;
  return s;
}

constexpr i64 terms_of_step = 256;    ///< products summed between loads of sums: enough to hide those
constexpr i64 pixels_of_block = 224;  ///< enough to use weights often while they are in a cache
constexpr i64 columns_of_block = 64;

/// Two or three vectors of outputs, whichever leaves fewer lanes empty, so that as many rows of sums as latency asks
/// for fit the registers beside them; one where those would leave more than an eighth of the lanes empty.
i64 panel_of(const MachineSpec& spec, i64 outputs) {
  const i64 vector = std::max(1, spec.simd_bytes / 4);
  const auto lanes = [&](i64 vectors) { return ceil_div(outputs, vectors * vector) * vectors * vector; };
  const i64 best = lanes(3) < lanes(2) ? 3 : 2;
  return 8 * lanes(1) < 7 * lanes(best) ? vector : best * vector;
}

/// `kernel`: positions of the whole kernel, of which the shape's may be a part; packing stages all of them.
template <class T>
PackedWeights packed_forward(const MachineSpec& spec, const ConvolutionShape& s, i64 kernel) {
  const i64 taps = s.kh * s.kw, panel = panel_of(spec, s.group_oc());
  const i64 stageable = std::max<i64>(1, spec.scratch_bytes / 8 / (panel * kernel * OperandOf<T>::terms));
  const i64 terms = ceil_div(s.group_ic(), OperandOf<T>::terms);
  const i64 slice = even_part(terms, std::min(stageable, std::max<i64>(8, terms_of_step / taps)));
  return {s.g, s.group_oc(), terms, taps, panel, slice};
}

template <class T>
void book(DirectForward<T>& p, PlanBuilder& builder) {
  const auto& t = p.tile;
  p.x_buf = builder.tile("pixels", 4 * t.images * p.packed.slice * Halo(p.s, t).plane(), 1);
  p.w_buf = builder.tile("weights", 4 * t.panels * p.packed.piece(), 1);
  p.acc_buf = builder.tile("sums", 4 * t.panels * t.images * t.rows * t.cols * p.packed.panel, 1);
}

template <class T>
void book(DirectWeightGradient<T>& p, PlanBuilder& builder) {
  const auto& t = p.tile;
  p.x_buf = builder.tile("pixels", 4 * t.images * p.packed.slice * Halo(p.s, t).plane(), 1);
  p.dy_buf = builder.tile("gradients", 4 * t.images * t.rows * t.cols * t.panels * p.packed.panel, 1);
  p.acc_buf = builder.tile("sums", 4 * t.panels * p.packed.piece(), 1);
}

template <class Program>
bool fits(const MachineSpec& spec, Program program) {
  PlanBuilder builder(spec);
  book(program, builder);
  return builder.fits();
}

/// Whether there is work for every CPE, in shares that differ little.
bool is_spread(const MachineSpec& spec, i64 blocks) { return blocks % spec.cpes == 0 || blocks >= 8 * spec.cpes; }

template <class T>
DirectForward<T> forward_program(const MachineSpec& spec, const ConvolutionShape& s, i64 kernel) {
  DirectForward<T> p{};
  p.s = s.sizes(s.mb);
  p.packed = packed_forward<T>(spec, s, kernel);
  p.y_plane = s.oh * s.ow, p.y_row = s.ow, p.y_col = 1;
  DirectTiles& t = p.tile;
  t.cols = even_part(s.ow, s.oh == 1 ? pixels_of_block : columns_of_block);
  if (s.oh == 1) t.cols = std::min(s.ow, round_up(t.cols, i64{16}));  // whole cache lines
  t.rows = even_part(s.oh, std::max<i64>(1, pixels_of_block / t.cols));
  t.images = std::clamp<i64>(pixels_of_block / (t.rows * t.cols), 1, s.mb);
  t.panels = p.packed.panels();
  const auto blocks = [&] {
    return ceil_div(s.mb, t.images) * s.g * ceil_div(s.oh, t.rows) * ceil_div(s.ow, t.cols) *
           ceil_div(p.packed.panels(), t.panels);
  };
  while (t.images > 1 && (!fits(spec, p) || !is_spread(spec, blocks()))) t.images = even_part(s.mb, t.images - 1);
  while (t.panels > 1 && !fits(spec, p)) t.panels = even_part(p.packed.panels(), t.panels - 1);
  while (t.rows > 1 && (!fits(spec, p) || !is_spread(spec, blocks()))) t.rows = even_part(s.oh, t.rows - 1);
  while (t.panels > 1 && !is_spread(spec, blocks())) t.panels = even_part(p.packed.panels(), t.panels - 1);
  while (t.cols > 1 && !fits(spec, p)) t.cols = even_part(s.ow, t.cols - 1);
  return p;
}

/// Slice and panels of a weight gradient: as many sums as a third of the scratchpad holds, of a shape that stages least
/// anew. Inputs come once for every block of panels, gradients, which must be turned, once for every slice.
template <class T>
void choose_sums(const MachineSpec& spec, DirectWeightGradient<T>& p) {
  constexpr double turned = 4, strided = 4;  // costs of staging, in those of a plain copy
  const ConvolutionSizes& s = p.s;
  const double input = (s.kh == 1 && s.kw == 1 && s.sw > 1) ? strided : 1;
  const i64 sums = spec.scratch_bytes / 12 / p.packed.taps;
  double least = 0;
  for (i64 panels = 1; panels <= p.packed.panels(); ++panels) {
    const i64 lanes = panels * p.packed.panel, slice = even_part(s.group_ic(), std::max<i64>(8, sums / lanes));
    const double cost =
        input * static_cast<double>(ceil_div(p.packed.panels(), panels)) / static_cast<double>(s.group_oc()) +
        turned * static_cast<double>(ceil_div(s.group_ic(), slice)) / static_cast<double>(s.group_ic());
    if (least == 0 || cost < least) least = cost, p.tile.panels = panels, p.packed.slice = slice;
  }
  p.tile.panels = even_part(p.packed.panels(), p.tile.panels);
}

template <class T>
DirectWeightGradient<T> weight_gradient_program(const MachineSpec& spec, const ConvolutionShape& s) {
  DirectWeightGradient<T> p{};
  p.s = s.sizes(s.mb);
  const i64 taps = s.kh * s.kw;
  p.packed = {s.g, s.group_oc(), s.group_ic(), taps, panel_of(spec, s.group_oc()), 0};
  DirectTiles& t = p.tile;
  t.cols = even_part(s.ow, s.oh == 1 ? pixels_of_block : columns_of_block);
  t.rows = even_part(s.oh, std::max<i64>(1, pixels_of_block / t.cols));
  const i64 operands = ceil_div(s.mb, p.together);  // images, or pairs of them
  t.images = std::clamp<i64>(pixels_of_block / (t.rows * t.cols), 1, operands);
  choose_sums(spec, p);
  p.parts = 1;
  const auto blocks = [&] { return p.parts * s.g * p.packed.slices() * ceil_div(p.packed.panels(), t.panels); };
  while (t.images > 1 && !fits(spec, p)) t.images = even_part(operands, t.images - 1);
  while (t.rows > 1 && !fits(spec, p)) t.rows = even_part(s.oh, t.rows - 1);
  while (t.panels > 1 && !fits(spec, p)) t.panels = even_part(p.packed.panels(), t.panels - 1);
  // Parts of the images stage everything once, but each has its sums to add; fewer panels stage the inputs again.
  const auto adds_little = [&] { return 4 * (p.parts + 1) * p.packed.floats() <= s.mb * s.src_image(); };
  while (p.parts < operands && !is_spread(spec, blocks()) && adds_little()) ++p.parts;
  while (t.panels > 1 && !is_spread(spec, blocks())) t.panels = even_part(p.packed.panels(), t.panels - 1);
  while (p.packed.slice > 8 && (!fits(spec, p) || !is_spread(spec, blocks())))
    p.packed.slice = even_part(s.group_ic(), p.packed.slice - 1);
  while (p.parts < operands && !is_spread(spec, blocks())) ++p.parts;
  while (t.cols > 1 && !fits(spec, p)) t.cols = even_part(s.ow, t.cols - 1);
  while (p.packed.slice > 1 && !fits(spec, p)) p.packed.slice = even_part(s.group_ic(), p.packed.slice - 1);
  return p;
}

template <class T>
PackWeights<T> pack_program(const PackedWeights& packed, const ConvolutionShape& s, bool turned, const KernelPart& y,
                            const KernelPart& x, PlanBuilder& book) {
  PackWeights<T> p{};
  p.packed = packed;
  p.channels = turned ? s.group_oc() : s.group_ic();
  p.kernel = s.kh * s.kw;
  p.output_pitch = turned ? p.kernel : s.terms();
  p.channel_pitch = turned ? s.terms() : p.kernel;
  p.group_pitch = s.group_oc() * s.terms();
  p.kw = s.kw;
  p.y = y, p.x = x;
  p.from_buf = book.tile("weights", 4 * packed.slice * p.together * packed.panel * p.kernel, 1);
  p.to_buf = book.line("packed", 4 * packed.piece(), 1);
  return p;
}

/// Packs weights to the workspace.
template <class T>
void pack(CoreGroup& group, const PackedWeights& packed, const ConvolutionShape& s, bool turned, const KernelPart& y,
          const KernelPart& x, const float* w, float* workspace) {
  PlanBuilder book(group.spec());
  PackWeights<T> p = pack_program<T>(packed, s, turned, y, x, book);
  p.w = w;
  p.to = reinterpret_cast<Operand<T>*>(workspace);
  group.launch(p, book.plan(0));
}

/// Convolves with weights that lie packed in the workspace.
template <class T>
void convolve(CoreGroup& group, DirectForward<T> p, const T* x, T* y, const float* workspace) {
  p.x = x, p.w = reinterpret_cast<const Operand<T>*>(workspace), p.y = y;
  PlanBuilder builder(group.spec());
  book(p, builder);
  Plan plan = builder.plan(0);
  plan.streams = group.spec().outgrows_cache(p.s.images * p.s.oc * p.y_plane * static_cast<i64>(sizeof(T)));
  group.launch(p, plan);
}

template <class T>
void run_forward(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg, float* workspace) {
  const DirectForward<T> p = forward_program<T>(group.spec(), s, s.kh * s.kw);
  pack<T>(group, p.packed, s, false, {0, -1, s.kh}, {0, -1, s.kw}, arg.w, workspace);
  convolve(group, p, arg.x_as<T>(), arg.out_as<T>(), workspace);
}

template <class T>
void run_weight_gradient(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg,
                         float* workspace) {
  DirectWeightGradient<T> p = weight_gradient_program<T>(group.spec(), s);
  PlanBuilder builder(group.spec()), unpack_book(group.spec());
  p.x = arg.x_as<T>(), p.dy = arg.dy_as<T>(), p.dw = workspace;
  book(p, builder);
  group.launch(p, builder.plan(0));
  UnpackWeights unpack{workspace, arg.out_as<float>(), p.packed, p.parts, {}, {}};
  unpack.from_buf = unpack_book.tile("packed", 4 * p.packed.piece(), Depth::two);
  unpack.to_buf = unpack_book.line("weights", 4 * p.packed.taps * p.packed.slice, 1);
  group.launch(unpack, unpack_book.plan(0));
}

/// Inputs that no kernel position meets, at strides beyond the kernel, get zeros.
template <class T>
void run_input_gradient(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg,
                        float* workspace) {
  const auto parts = gradient_parts(s);
  T* const dx = arg.out_as<T>();
  if (std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); }))
    group.zero(dx, static_cast<std::size_t>(s.mb * s.src_image()) * sizeof(T));
  for (const auto& part : parts) {
    if (part.empty()) continue;
    DirectForward<T> p = forward_program<T>(group.spec(), part.shape(s), s.kh * s.kw);
    p.y_plane = s.ih * s.iw, p.y_row = s.sh * s.iw, p.y_col = s.sw;
    pack<T>(group, p.packed, s, true, part.y.kernel, part.x.kernel, arg.w, workspace);
    convolve(group, p, arg.dy_as<T>(), dx + part.first, workspace);
  }
}

template <class Program>
std::string refuse_program(const MachineSpec& spec, Program program) {
  PlanBuilder builder(spec);
  book(program, builder);
  return builder.fits() ? "" : builder.reason();
}

template <class T>
std::string refuse_as(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction) {
  const i64 kernel = s.kh * s.kw;
  if (direction == ConvolutionDirection::forward) return refuse_program(spec, forward_program<T>(spec, s, kernel));
  if (direction == ConvolutionDirection::weight_gradient)
    return refuse_program(spec, weight_gradient_program<T>(spec, s));
  for (const auto& part : gradient_parts(s)) {
    const std::string reason =
        part.empty() ? "" : refuse_program(spec, forward_program<T>(spec, part.shape(s), kernel));
    if (!reason.empty()) return reason;
  }
  return "";
}

std::string DirectConvolution::refuse(CoreGroup& group, const ConvolutionShape& shape,
                                      ConvolutionDirection direction) const {
  const MachineSpec& spec = group.spec();
  if (!spec.works_from_caches())
    return "multiplies single inputs with vectors of weights: written for cores with caches, which work alone";
  std::string reason;
  with_element(shape.precision,
               [&](auto element) { reason = refuse_as<decltype(element)>(spec, flattened(shape), direction); });
  return reason;
}

/// Not where most lanes stay empty, nor where storing a sum costs as much as its few terms: the library's vectors lie
/// along pixels. Input gradients compute what kernels that overhang the edges see, too.
bool DirectConvolution::pays(const ConvolutionShape& s, ConvolutionDirection direction) const {
  if (s.g > 1 || s.precision != Precision::fp32) return true;
  if (direction == ConvolutionDirection::input_gradient) return s.ic >= 32 || s.sw > 1 || 4 * s.ow >= 3 * s.iw;
  return s.terms() >= 32;
}

template <class T>
i64 workspace_as(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction) {
  const i64 kernel = s.kh * s.kw;
  if (direction == ConvolutionDirection::forward) return forward_program<T>(spec, s, kernel).packed.floats();
  if (direction == ConvolutionDirection::weight_gradient) {
    const auto p = weight_gradient_program<T>(spec, s);
    return p.parts * p.packed.floats();
  }
  i64 floats = 0;
  for (const auto& part : gradient_parts(s))
    if (!part.empty()) floats = std::max(floats, forward_program<T>(spec, part.shape(s), kernel).packed.floats());
  return floats;
}

i64 DirectConvolution::workspace(CoreGroup& group, const ConvolutionShape& shape,
                                 ConvolutionDirection direction) const {
  i64 floats = 0;
  with_element(shape.precision, [&](auto element) {
    floats = workspace_as<decltype(element)>(group.spec(), flattened(shape), direction);
  });
  return floats;
}

void DirectConvolution::run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                            const ConvolutionArguments& arguments, float* workspace) const {
  const ConvolutionShape s = flattened(shape);
  with_element(s.precision, [&](auto element) {
    using T = decltype(element);
    switch (direction) {
      case ConvolutionDirection::forward: return run_forward<T>(group, s, arguments, workspace);
      case ConvolutionDirection::weight_gradient: return run_weight_gradient<T>(group, s, arguments, workspace);
      case ConvolutionDirection::input_gradient: return run_input_gradient<T>(group, s, arguments, workspace);
    }
  });
}

}  // namespace

std::unique_ptr<ConvolutionCandidate> make_direct_convolution() { return std::make_unique<DirectConvolution>(); }

}  // namespace cortado
