#include <algorithm>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/machine/parts.h"
#include "layers/convolution/candidates.h"
#include "layers/convolution/direct/programs.h"
#include "layers/convolution/gradient_parts.h"

namespace cortado {
namespace {

/// What is shared out over the cores.
enum class Split {
  likely,    ///< pixels; of a weight gradient images or output channels, whichever adds less
  channels,  ///< output channels first
  images     ///< of a weight gradient; forward does so anyway
};

/// What a variant does differently from `direct` itself: for the tuner, who measures them.
struct DirectVariant {
  const char* suffix;  ///< of its name
  i64 pixels;          ///< of a block
  Split split;
};

constexpr DirectVariant direct_variants[] = {{"", 224, Split::likely},  // weights are used often while in a cache
                                             {":small_blocks", 112, Split::likely},
                                             {":large_blocks", 448, Split::likely},
                                             {":by_channels", 224, Split::channels},
                                             {":by_images", 224, Split::images}};

/// Implicit GEMM with vectors along output channels (DirectForward, DirectWeightGradient): for machines whose caches
/// make single elements as cheap to read as lines. The input gradient runs as forward convolutions, like the implicit
/// plan's.
class DirectConvolution : public ConvolutionCandidate {
 public:
  /// `variant` is one of direct_variants.
  explicit DirectConvolution(const DirectVariant& variant) : variant_(variant) {}
  std::string name() const override { return std::string("direct") + variant_.suffix; }
  std::string refuse(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  bool pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  bool takes_blocks() const override { return true; }
  i64 workspace(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  i64 kept_weights(CoreGroup& group, const ConvolutionShape& shape) const override {
    return workspace(group, shape, ConvolutionDirection::forward);
  }
  i64 sum_parts(CoreGroup& group, const ConvolutionShape& shape) const override;
  bool joins(CoreGroup& group, const ConvolutionShape& shape) const override;
  bool sets_weights(const ConvolutionShape&) const override { return true; }
  void run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
           const ConvolutionArguments& arguments, float* workspace) const override;

 private:
  const DirectVariant& variant_;
};

/// Kernels of one pixel see an image as one row.
ConvolutionShape flattened(ConvolutionShape s) {
  if (!s.is_pointwise()) return s;
  s.iw *= s.ih, s.ow *= s.oh;
  s.ih = s.oh = 1;
  return s;
}

constexpr i64 terms_of_step = 256;  ///< products summed between loads of sums: enough to hide those
constexpr i64 columns_of_block = 64;
constexpr i64 narrow = 9;  ///< columns of images whose rows leave registers for three vectors

/// Two or three vectors of outputs, whichever leaves fewer lanes empty, so that as many rows of sums as latency asks
/// for fit the registers beside them; one where those would leave more than an eighth of the lanes empty. Of outputs in
/// blocks whole blocks.
i64 panel_of(const MachineSpec& spec, i64 outputs, i64 columns, Layout layout) {
  const i64 vector = std::max(1, spec.simd_bytes / 4);
  const auto lanes = [&](i64 vectors) { return ceil_div(outputs, vectors * vector) * vectors * vector; };
  const bool is_narrow = columns <= narrow && 8 * lanes(3) < 9 * lanes(2);
  const i64 best = is_narrow || lanes(3) < lanes(2) ? 3 : 2;
  const i64 panel = 8 * lanes(1) < 7 * lanes(best) ? vector : best * vector;
  return layout == Layout::nchw16c ? round_up(panel, block_channels) : panel;
}

/// `kernel`: positions of the whole kernel, of which the shape's may be a part; packing stages all of them.
template <class T>
PackedWeights packed_forward(const MachineSpec& spec, const ConvolutionShape& s, i64 kernel) {
  const i64 taps = s.kh * s.kw, panel = panel_of(spec, s.group_oc(), s.ow, s.dst);
  const i64 stageable = std::max<i64>(1, spec.scratch_bytes / 8 / (panel * kernel * OperandOf<T>::terms));
  const i64 terms = ceil_div(s.group_ic(), OperandOf<T>::terms), unit = channel_block(s.src);
  const i64 least = ceil_div(unit, OperandOf<T>::terms),
            most = std::min(stageable, std::max<i64>(8, terms_of_step / taps));
  const i64 slice = least * even_part(terms / least, most / least);
  return {s.g, s.group_oc(), terms, taps, panel, slice, s.src == Layout::nchw16c ? least : slice};
}

template <class T>
void book(DirectForward<T>& p, PlanBuilder& builder) {
  const auto& t = p.tile;
  p.x_buf = builder.tile("pixels", 4 * t.images * p.packed.slice * p.halo().plane(), 1);
  p.w_buf = builder.tile("weights", 4 * t.panels * p.packed.piece(), 1);
  p.acc_buf = builder.tile("sums", 4 * t.panels * t.images * t.rows * t.cols * p.packed.panel, 1);
  p.sums_buf = builder.line("sums of outputs", 8 * block_channels, 1);
}
/// What it needs more where it joins another gradient.
template <class T>
void book_other(DirectForward<T>& p, PlanBuilder& builder) {
  p.y_buf = builder.line("outputs", 4 * p.tile.cols * block_channels, 1);
  book(p.other, p.tile.cols, builder);
}

template <class T>
void book(DirectWeightGradient<T>& p, PlanBuilder& builder) {
  const auto& t = p.tile;
  p.x_buf = builder.tile("pixels", 4 * t.images * p.packed.slice * p.halo().plane(), 1);
  p.dy_buf = builder.tile("gradients", 4 * t.images * t.rows * t.cols * t.panels * p.packed.panel, 1);
  p.acc_buf = builder.tile("sums", 4 * t.panels * p.packed.piece(), 1);
}

void book(UnpackWeights& p, PlanBuilder& builder) {
  p.from_buf = builder.tile("packed", 4 * p.packed.piece(), Depth::two);
  book(p.to, p.packed.taps * p.packed.slice, builder);
}

template <class Program>
bool fits(const MachineSpec& spec, Program program) {
  PlanBuilder builder(spec);
  book(program, builder);
  return builder.fits();
}
/// With what comes after it.
template <class T>
bool fits(const MachineSpec& spec, const DirectWeightGradient<T>& program) {
  UnpackWeights unpack{};
  unpack.packed = program.packed;
  return fits<DirectWeightGradient<T>>(spec, program) && fits<UnpackWeights>(spec, unpack);
}

template <class T>
DirectForward<T> forward_program(const MachineSpec& spec, const ConvolutionShape& s, i64 kernel,
                                 const DirectVariant& variant) {
  DirectForward<T> p{};
  p.s = s.sizes(s.mb);
  p.packed = packed_forward<T>(spec, s, kernel);
  p.y_plane = s.oh * s.ow, p.y_row = s.ow, p.y_col = 1;
  DirectTiles& t = p.tile;
  t.cols = even_part(s.ow, s.oh == 1 ? variant.pixels : columns_of_block);
  if (s.oh == 1) t.cols = std::min(s.ow, round_up(t.cols, i64{16}));  // whole cache lines
  t.rows = even_part(s.oh, std::max<i64>(1, variant.pixels / t.cols));
  t.images = std::clamp<i64>(variant.pixels / (t.rows * t.cols), 1, s.mb);
  if (p.skips_pixels()) t.images = 1;
  t.panels = p.packed.panels();
  if (variant.split == Split::channels) t.panels = even_part(t.panels, ceil_div(t.panels, i64{spec.cpes}));
  const auto blocks = [&] {
    return ceil_div(s.mb, t.images) * s.g * ceil_div(s.oh, t.rows) * ceil_div(s.ow, t.cols) *
           ceil_div(p.packed.panels(), t.panels);
  };
  while (t.images > 1 && (!fits(spec, p) || !spec.is_spread(blocks()))) t.images = even_part(s.mb, t.images - 1);
  while (t.panels > 1 && !fits(spec, p)) t.panels = even_part(p.packed.panels(), t.panels - 1);
  while (t.rows > 1 && (!fits(spec, p) || !spec.is_spread(blocks()))) t.rows = even_part(s.oh, t.rows - 1);
  while (t.panels > 1 && !spec.is_spread(blocks())) t.panels = even_part(p.packed.panels(), t.panels - 1);
  while (t.cols > 1 && !fits(spec, p)) t.cols = even_part(s.ow, t.cols - 1);
  return p;
}

/// Slice and panels of a weight gradient: as many sums as a third of the scratchpad holds, of a shape that stages least
/// anew. Inputs come once for every block of panels, gradients, which must be turned, once for every slice.
template <class T>
void choose_sums(const MachineSpec& spec, DirectWeightGradient<T>& p) {
  const ConvolutionSizes& s = p.s;
  const bool strides = s.kh == 1 && s.kw == 1 && s.sw > 1 && s.src == Layout::nchw;
  const double input = strides ? 4 : 1, turned = s.dst == Layout::nchw ? 4 : 1;  // costs, in those of a plain copy
  const i64 unit = channel_block(s.src);
  const i64 sums = spec.scratch_bytes / 12 / p.packed.taps;
  double least = 0;
  for (i64 panels = 1; panels <= p.packed.panels(); ++panels) {
    const i64 lanes = panels * p.packed.panel, most = std::max<i64>(8, sums / lanes),
              slice = unit * even_part(s.group_ic() / unit, most / unit);
    const double cost =
        input * static_cast<double>(ceil_div(p.packed.panels(), panels)) / static_cast<double>(s.group_oc()) +
        turned * static_cast<double>(ceil_div(s.group_ic(), slice)) / static_cast<double>(s.group_ic());
    if (least == 0 || cost < least) least = cost, p.tile.panels = panels, p.packed.slice = slice;
  }
  p.tile.panels = even_part(p.packed.panels(), p.tile.panels);
}

template <class T>
DirectWeightGradient<T> weight_gradient_program(const MachineSpec& spec, const ConvolutionShape& s,
                                                const DirectVariant& variant) {
  DirectWeightGradient<T> p{};
  p.s = s.sizes(s.mb);
  const i64 taps = s.kh * s.kw, unit = channel_block(s.src);  // channels that a slice cannot part
  p.packed = {s.g, s.group_oc(), s.group_ic(), taps, panel_of(spec, s.group_oc(), narrow + 1, s.dst), 0, 0};
  DirectTiles& t = p.tile;
  t.cols = even_part(s.ow, s.oh == 1 ? variant.pixels : columns_of_block);
  t.rows = even_part(s.oh, std::max<i64>(1, variant.pixels / t.cols));
  const i64 operands = ceil_div(s.mb, p.together);  // images, or pairs of them
  t.images = std::clamp<i64>(variant.pixels / (t.rows * t.cols), 1, operands);
  choose_sums(spec, p);
  p.parts = 1;
  const auto blocks = [&] { return p.parts * s.g * p.packed.slices() * ceil_div(p.packed.panels(), t.panels); };
  while (t.images > 1 && !fits(spec, p)) t.images = even_part(operands, t.images - 1);
  while (t.rows > 1 && !fits(spec, p)) t.rows = even_part(s.oh, t.rows - 1);
  while (t.panels > 1 && !fits(spec, p)) t.panels = even_part(p.packed.panels(), t.panels - 1);
  // Parts of the images stage everything once, but each has its sums to add; fewer panels stage the inputs again.
  const auto takes_parts = [&] {
    return variant.split == Split::images ||
           (variant.split == Split::likely && 4 * (p.parts + 1) * p.packed.floats() <= s.mb * s.src_image());
  };
  while (p.parts < operands && !spec.is_spread(blocks()) && takes_parts()) ++p.parts;
  while (t.panels > 1 && !spec.is_spread(blocks())) t.panels = even_part(p.packed.panels(), t.panels - 1);
  const auto smaller_slice = [&] { return unit * even_part(s.group_ic() / unit, p.packed.slice / unit - 1); };
  while (p.packed.slice > std::max<i64>(8, unit) && (!fits(spec, p) || !spec.is_spread(blocks())))
    p.packed.slice = smaller_slice();
  while (p.parts < operands && !spec.is_spread(blocks())) ++p.parts;
  while (t.cols > 1 && !fits(spec, p)) t.cols = even_part(s.ow, t.cols - 1);
  while (p.packed.slice > unit && !fits(spec, p)) p.packed.slice = smaller_slice();
  return p;
}

/// Of a program that packs; `weights`: of a term and an output.
std::pair<Buf, Buf> book_packing(const PackedWeights& packed, i64 weights, PlanBuilder& book) {
  const Buf from = book.tile("weights", 4 * packed.slice * packed.panel * weights, 1);
  return {from, book.tile("packed", 4 * packed.unit * packed.panel, 1)};
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
  std::tie(p.from_buf, p.to_buf) = book_packing(packed, p.together * p.kernel, book);
  return p;
}

/// Packs weights to `to`.
template <class T>
void pack(CoreGroup& group, const PackedWeights& packed, const ConvolutionShape& s, bool turned, const KernelPart& y,
          const KernelPart& x, const float* w, float* to) {
  PlanBuilder book(group.spec());
  PackWeights<T> p = pack_program<T>(packed, s, turned, y, x, book);
  p.w = w;
  p.to = reinterpret_cast<Operand<T>*>(to);
  group.launch(p, book.plan(0));
}

/// Convolves with packed weights.
template <class T>
void convolve(CoreGroup& group, DirectForward<T> p, const T* x, T* y, const float* packed) {
  p.x = x, p.w = reinterpret_cast<const Operand<T>*>(packed), p.y = y;
  PlanBuilder builder(group.spec());
  book(p, builder);
  if (p.other.values != nullptr) book_other(p, builder);
  Plan plan = builder.plan(0);
  plan.streams = group.spec().outgrows_cache(p.s.images * p.s.oc * p.y_plane * static_cast<i64>(sizeof(T)));
  group.launch(p, plan);
}

template <class T>
void run_forward(CoreGroup& group, const ConvolutionShape& s, const DirectVariant& variant,
                 const ConvolutionArguments& arg, float* workspace) {
  DirectForward<T> p = forward_program<T>(group.spec(), s, s.kh * s.kw, variant);
  p.sums = arg.sums;
  float* const packed = arg.kept != nullptr ? arg.kept : workspace;
  if (!arg.are_kept) pack<T>(group, p.packed, s, false, {0, -1, s.kh}, {0, -1, s.kw}, arg.w, packed);
  convolve(group, p, arg.x_as<T>(), arg.out_as<T>(), packed);
}

template <class T>
void run_weight_gradient(CoreGroup& group, const ConvolutionShape& s, const DirectVariant& variant,
                         const ConvolutionArguments& arg, float* workspace) {
  DirectWeightGradient<T> p = weight_gradient_program<T>(group.spec(), s, variant);
  PlanBuilder builder(group.spec()), unpack_book(group.spec());
  p.x = arg.x_as<T>(), p.dy = arg.dy_as<T>(), p.dw = workspace;
  book(p, builder);
  group.launch(p, builder.plan(0));
  UnpackWeights unpack{workspace, arg.out_as<float>(), p.packed, p.parts, arg.sets, {}, {}};
  book(unpack, unpack_book);
  group.launch(unpack, unpack_book.plan(0));
}

/// Inputs that no kernel position meets, at strides beyond the kernel, get zeros.
template <class T>
void run_input_gradient(CoreGroup& group, const ConvolutionShape& s, const DirectVariant& variant,
                        const ConvolutionArguments& arg, float* workspace) {
  const auto parts = gradient_parts(s);
  T* const dx = arg.out_as<T>();
  if (std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); }))
    group.zero(dx, static_cast<std::size_t>(s.mb * s.src_image()) * sizeof(T));
  for (const auto& part : parts) {
    if (part.empty()) continue;
    DirectForward<T> p = forward_program<T>(group.spec(), part.shape(s), s.kh * s.kw, variant);
    p.y_plane = s.ih * s.iw, p.y_row = s.sh * s.iw, p.y_col = s.sw;
    p.other = arg.other_as<T>();
    pack<T>(group, p.packed, s, true, part.y.kernel, part.x.kernel, arg.w, workspace);
    convolve(group, p, arg.dy_as<T>(), dx + part.first * channel_block(s.src), workspace);
  }
}

template <class T>
i64 parts_of(const DirectForward<T>&) {
  return 1;
}
template <class T>
i64 parts_of(const DirectWeightGradient<T>& p) {
  return p.parts;
}

template <class Program>
std::string refuse_program(const MachineSpec& spec, Program program, i64) {
  PlanBuilder builder(spec);
  book(program, builder);
  return builder.fits() ? "" : builder.reason();
}
/// With what packs its weights, of which a slice holds whole blocks of channels; `kernel`: positions of the whole one.
template <class T>
std::string refuse_program(const MachineSpec& spec, const DirectForward<T>& program, i64 kernel) {
  const std::string reason = refuse_program<DirectForward<T>>(spec, program, kernel);
  PlanBuilder builder(spec);
  book_packing(program.packed, OperandOf<T>::terms * kernel, builder);
  return !reason.empty() || builder.fits() ? reason : builder.reason();
}

/// Calls work(program) for the programs of a direction.
template <class T, class Work>
void for_programs(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction,
                  const DirectVariant& variant, Work work) {
  const i64 kernel = s.kh * s.kw;
  switch (direction) {
    case ConvolutionDirection::forward: return work(forward_program<T>(spec, s, kernel, variant));
    case ConvolutionDirection::weight_gradient: return work(weight_gradient_program<T>(spec, s, variant));
    case ConvolutionDirection::input_gradient:
      for (const auto& part : gradient_parts(s))
        if (!part.empty()) work(forward_program<T>(spec, part.shape(s), kernel, variant));
  }
}

/// What a variant decides about a program.
template <class Program>
std::tuple<DirectTiles, i64, i64> decisions(const Program& p) {
  return {p.tile, p.packed.slice, parts_of(p)};
}

template <class T>
std::string refuse_as(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction,
                      const DirectVariant& variant) {
  std::string reason;
  std::vector<std::tuple<DirectTiles, i64, i64>> own, usual;
  for_programs<T>(spec, s, direction, variant, [&](const auto& program) {
    if (reason.empty()) reason = refuse_program(spec, program, s.kh * s.kw);
    own.push_back(decisions(program));
  });
  if (!reason.empty() || &variant == direct_variants) return reason;
  for_programs<T>(spec, s, direction, direct_variants[0],
                  [&](const auto& program) { usual.push_back(decisions(program)); });
  return own == usual ? "does what direct does" : "";
}

std::string DirectConvolution::refuse(CoreGroup& group, const ConvolutionShape& shape,
                                      ConvolutionDirection direction) const {
  const MachineSpec& spec = group.spec();
  if (!spec.works_from_caches())
    return "multiplies single inputs with vectors of weights: written for cores with caches, which work alone";
  if (!shape.in_planes() && shape.dw > 1) return "takes blocks of channels without dilation only";
  std::string reason;
  with_element(shape.precision, [&](auto element) {
    reason = refuse_as<decltype(element)>(spec, flattened(shape), direction, variant_);
  });
  return reason;
}

/// Not where most lanes stay empty, nor where storing a sum costs as much as its few terms: the library's vectors lie
/// along pixels. Input gradients compute what kernels that overhang the edges see, too. The library knows planes only.
bool DirectConvolution::pays(const MachineSpec&, const ConvolutionShape& s, ConvolutionDirection direction) const {
  if (s.g > 1 || s.precision != Precision::fp32 || !s.in_planes()) return true;
  if (direction == ConvolutionDirection::input_gradient) return s.ic >= 32 || s.sw > 1 || 4 * s.ow >= 3 * s.iw;
  return s.terms() >= 32;
}

i64 DirectConvolution::workspace(CoreGroup& group, const ConvolutionShape& shape,
                                 ConvolutionDirection direction) const {
  i64 floats = 0;
  with_element(shape.precision, [&](auto element) {
    for_programs<decltype(element)>(group.spec(), flattened(shape), direction, variant_, [&](const auto& program) {
      floats = std::max(floats, parts_of(program) * program.packed.floats());
    });
  });
  return floats;
}

i64 DirectConvolution::sum_parts(CoreGroup& group, const ConvolutionShape& shape) const {
  if (shape.dst != Layout::nchw16c) return 0;
  const ConvolutionShape s = flattened(shape);
  i64 parts = 0;
  with_element(s.precision, [&](auto element) {
    parts = forward_program<decltype(element)>(group.spec(), s, s.kh * s.kw, variant_).pixel_tiles();
  });
  return parts;
}

bool DirectConvolution::joins(CoreGroup& group, const ConvolutionShape& shape) const {
  const ConvolutionShape s = flattened(shape);
  const auto parts = gradient_parts(s);
  if (s.src != Layout::nchw16c || parts.size() != 1) return false;
  bool fits = false;
  with_element(s.precision, [&](auto element) {
    auto program = forward_program<decltype(element)>(group.spec(), parts[0].shape(s), s.kh * s.kw, variant_);
    PlanBuilder builder(group.spec());
    book(program, builder);
    book_other(program, builder);
    fits = builder.fits();
  });
  return fits;
}

void DirectConvolution::run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                            const ConvolutionArguments& arguments, float* workspace) const {
  const ConvolutionShape s = flattened(shape);
  with_element(s.precision, [&](auto element) {
    using T = decltype(element);
    switch (direction) {
      case ConvolutionDirection::forward: return run_forward<T>(group, s, variant_, arguments, workspace);
      case ConvolutionDirection::weight_gradient:
        return run_weight_gradient<T>(group, s, variant_, arguments, workspace);
      case ConvolutionDirection::input_gradient: return run_input_gradient<T>(group, s, variant_, arguments, workspace);
    }
  });
}

}  // namespace

std::vector<std::unique_ptr<ConvolutionCandidate>> make_direct_convolutions() {
  std::vector<std::unique_ptr<ConvolutionCandidate>> all;
  for (const auto& variant : direct_variants) all.push_back(std::make_unique<DirectConvolution>(variant));
  return all;
}

}  // namespace cortado
