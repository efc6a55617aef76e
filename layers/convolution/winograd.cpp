#include <algorithm>

#include "core/machine/parts.h"
#include "layers/convolution/candidates.h"
#include "layers/convolution/winograd_programs.h"
#include "layers/gemm/gemm.h"

namespace cortado {
namespace {

/// What a variant does differently from `winograd` itself: for the tuner, who measures them.
struct WinogradVariant {
  const char* suffix;  ///< of its name
  i64 cached;          ///< floats of matrices that are worked on at a time
};

constexpr WinogradVariant winograd_variants[] = {
    {"", i64{2} << 20}, {":small_parts", i64{1} << 19}, {":large_parts", i64{8} << 20}};

/// Winograd's F in three steps for a part of the batch at a time: inputs to matrices, their products, and back. The
/// input gradient is the forward convolution with turned weights; the weight gradient is the exact transpose of the
/// forward algorithm. Errors: docs/cpu.md.
class WinogradConvolution : public ConvolutionCandidate {
 public:
  /// Tiles of `outputs` by `outputs`, 4 or 2; `variant` is one of winograd_variants.
  WinogradConvolution(i64 outputs, const WinogradVariant& variant) : outputs_(outputs), variant_(variant) {}
  std::string name() const override {
    return std::string(outputs_ == 4 ? "winograd" : "winograd_2x2") + variant_.suffix;
  }
  std::string refuse(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  bool pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  bool takes_blocks() const override { return true; }
  i64 workspace(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  i64 kept_weights(CoreGroup& group, const ConvolutionShape& shape) const override;
  i64 sum_parts(CoreGroup& group, const ConvolutionShape& shape) const override;
  void run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
           const ConvolutionArguments& arguments, float* workspace) const override;

 private:
  template <class F>
  void run_as(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
              const ConvolutionArguments& arguments, float* workspace) const;
  /// Calls f with the structure F for a shape's kernel.
  template <class Function>
  auto with_structure(const ConvolutionShape& s, Function f) const {
    if (s.kh == 5) return f(winograd::F4x5());
    return outputs_ == 4 ? f(winograd::F4x3()) : f(winograd::F2x3());
  }

  const i64 outputs_;
  const WinogradVariant& variant_;
};

/// The shape whose tiles a direction works on: an input gradient at stride 1 is a forward convolution.
ConvolutionShape as_forward(ConvolutionShape s, ConvolutionDirection direction) {
  if (direction != ConvolutionDirection::input_gradient) return s;
  std::swap(s.ic, s.oc);
  std::swap(s.src, s.dst);
  std::swap(s.ih, s.oh);
  std::swap(s.iw, s.ow);
  s.ph = s.kh - 1 - s.ph, s.pw = s.kw - 1 - s.pw;
  return s;
}

/// What is worked on at a time: whole images, or some rows of tiles of one, so that the matrices stay in a cache; not
/// so few that the weights, which every part reads, cost more.
template <class F>
struct Parts {
  i64 images, rows, cols;  ///< of tiles; rows of one image
  i64 all_rows;

  Parts(const ConvolutionShape& s, const WinogradVariant& variant) {
    all_rows = ceil_div(s.oh, F::outputs), cols = ceil_div(s.ow, F::outputs);
    const i64 of_tile = F::products * (s.group_ic() + s.group_oc()),
              weights = F::products * s.group_ic() * s.group_oc();
    const i64 most = std::max<i64>(1, std::max(variant.cached, 4 * weights) / of_tile);
    images = even_part(s.mb, most / (all_rows * cols));
    rows = images > 1 ? all_rows : even_part(all_rows, most / cols);
  }
  i64 tiles() const { return images * rows * cols; }
  bool operator==(const Parts& o) const { return images == o.images && rows == o.rows; }
};

/// Floats of a group's weights as points.
template <class F>
i64 weights_as_points(const ConvolutionShape& s) {
  return F::products * winograd::distance(s.group_ic(), s.group_oc());
}

/// Where the pieces of the workspace begin: points of weights, of inputs, of outputs.
template <class F>
struct Pieces {
  i64 x, y, floats;

  Pieces(const ConvolutionShape& s, const Parts<F>& parts) {
    x = weights_as_points<F>(s);
    y = x + F::products * winograd::distance(parts.tiles(), s.group_ic());
    floats = y + F::products * winograd::distance(parts.tiles(), s.group_oc());
  }
};

/// Terms of a line of weights: enough to be worth a launch's line, few enough to spread.
constexpr i64 line_terms = 16;

template <class F, bool gradients, class T>
void transform(CoreGroup& group, const T* x, float* v, i64 height, i64 width, i64 pad_h, i64 pad_w, Layout layout,
               const WinogradTiles& tiles) {
  WinogradTransform<F, gradients, T> p{x, v, height, width, pad_h, pad_w, layout, tiles, {}, {}};
  PlanBuilder book(group.spec());
  p.x_buf = book.tile("pixels", 4 * p.side * p.columns() * winograd::lanes, 1);
  p.v_buf = book.line("points", 4 * F::products * winograd::lanes, 1);
  group.launch(p, book.plan(tiles.lines()));
}

template <class F, class T>
void to_pixels(CoreGroup& group, const float* m, T* y, const ConvolutionShape& s, const WinogradTiles& tiles,
               float* sums) {
  WinogradOutputs<F, T> p{m, y, s.oh, s.ow, s.dst, tiles, sums, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.sums_buf = book.line("sums of outputs", 8 * block_channels, 1);
  p.m_buf = book.line("points", 4 * F::products * winograd::lanes, 1);
  const i64 bytes = 4 * F::outputs * s.ow * winograd::lanes;
  p.y_buf = s.dst == Layout::nchw16c ? book.line("pixels", bytes, 1) : book.tile("pixels", bytes, 1);
  Plan plan = book.plan(tiles.lines());
  plan.streams = group.spec().outgrows_cache(s.mb * s.dst_image() * static_cast<i64>(sizeof(T)));
  group.launch(p, plan);
}

/// Products of points of inputs, tiles x padded channels, `of_x`: with those of weights to those of outputs, or,
/// with those of gradients, to those of weights.
template <class F>
void multiply_points(CoreGroup& group, const MatrixLibrary::Gemm& gemm, const WinogradTiles& of_x) {
  MatrixProduct product;
  product.gemm = gemm;
  product.gemm.lda = of_x.width();
  product.gemm.ldb = product.gemm.ldy = gemm.n;
  product.count = F::products;
  product.stride_a = of_x.matrix(), product.stride_b = winograd::distance(gemm.k, gemm.n),
  product.stride_y = winograd::distance(gemm.m, gemm.n);
  multiply(group, Multiplier::tile_program, product);
}

/// Calls work(first image, tiles of x, tiles of y) for each part.
template <class F, class Work>
void for_parts(const ConvolutionShape& s, const Parts<F>& parts, Work work) {
  for (i64 image = 0; image < s.mb; image += parts.images)
    for (i64 row = 0; row < parts.all_rows; row += parts.rows) {
      WinogradTiles of_x{std::min(parts.images, s.mb - image),       s.group_ic(), s.ic, row,
                         std::min(parts.rows, parts.all_rows - row), parts.cols};
      WinogradTiles of_y = of_x;
      of_y.channels = s.group_oc(), of_y.image_channels = s.oc;
      work(image, of_x, of_y);
    }
}

/// Weights to points.
template <class F>
void transform_weights(CoreGroup& group, const ConvolutionShape& s, bool turned, const float* w, float* points) {
  constexpr i64 taps = WinogradWeights<F>::taps;
  WinogradWeights<F> weights{w,
                             points,
                             s.group_oc(),
                             s.group_ic(),
                             turned ? taps : s.group_ic() * taps,
                             turned ? s.group_oc() * taps : taps,
                             turned,
                             line_terms,
                             {},
                             {}};
  PlanBuilder book(group.spec());
  weights.w_buf = book.tile("weights", 4 * line_terms * taps * winograd::lanes, 1);
  weights.u_buf = book.line("points", 4 * F::products * winograd::lanes, 1);
  group.launch(weights, book.plan(weights.lines()));
}

/// Convolves with weights as points; sums: null or where a group's channels begin, as WinogradOutputs has them.
template <class F, class T>
void run_forward(CoreGroup& group, const ConvolutionShape& s, const Parts<F>& parts, const float* weights, const T* in,
                 T* out, float* sums, float* workspace) {
  const Pieces<F> at(s, parts);
  for_parts(s, parts, [&](i64 image, const WinogradTiles& of_x, const WinogradTiles& of_y) {
    float *const x = workspace + at.x, *const y = workspace + at.y;
    transform<F, false>(group, in + image * s.src_image(), x, s.ih, s.iw, s.ph, s.pw, s.src, of_x);
    MatrixLibrary::Gemm gemm;
    gemm.m = of_x.count(), gemm.n = of_y.width(), gemm.k = s.group_ic();
    gemm.a = x, gemm.b = weights, gemm.y = y, gemm.beta = 0;
    multiply_points<F>(group, gemm, of_x);
    to_pixels<F>(group, y, out + image * s.dst_image(), s, of_y,
                 sums == nullptr ? nullptr : sums + image * parts.all_rows * 2 * s.oc);
  });
}

template <class F, class T>
void run_weight_gradient(CoreGroup& group, const ConvolutionShape& s, const Parts<F>& parts, const T* in, const T* dy,
                         float* dw, float* workspace) {
  const Pieces<F> at(s, parts);
  bool first = true;
  for_parts(s, parts, [&](i64 image, const WinogradTiles& of_x, const WinogradTiles& of_y) {
    float *const x = workspace + at.x, *const y = workspace + at.y;
    transform<F, false>(group, in + image * s.src_image(), x, s.ih, s.iw, s.ph, s.pw, s.src, of_x);
    transform<F, true>(group, dy + image * s.dst_image(), y, s.oh, s.ow, 0, 0, s.dst, of_y);
    MatrixLibrary::Gemm gemm;
    gemm.m = s.group_ic(), gemm.n = of_y.width(), gemm.k = of_x.count();
    gemm.transpose_a = true;
    gemm.a = x, gemm.b = y, gemm.y = workspace, gemm.beta = first ? 0.0f : 1.0f;
    multiply_points<F>(group, gemm, of_x);
    first = false;
  });
  constexpr i64 taps = WinogradWeightGradient<F>::taps;
  WinogradWeightGradient<F> p{workspace, dw, s.group_oc(), s.group_ic(), line_terms, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.old_buf = book.tile("old weights", 4 * line_terms * taps * winograd::lanes, 1);
  p.du_buf = book.line("points", 4 * F::products * winograd::lanes, 1);
  p.dw_buf = book.tile("weights", 4 * line_terms * taps * winograd::lanes, 1);
  group.launch(p, book.plan(p.lines()));
}

std::string WinogradConvolution::refuse(CoreGroup& group, const ConvolutionShape& s,
                                        ConvolutionDirection direction) const {
  const MachineSpec& spec = group.spec();
  if (!spec.works_from_caches())
    return "keeps planes and matrices of points where a cache holds them: written for cores with caches";
  const bool known = s.kh == s.kw && (s.kh == 3 || (s.kh == 5 && outputs_ == 4));
  if (!known || s.sh != 1 || s.sw != 1 || s.dh != 1 || s.dw != 1)
    return std::string("is for 3 x 3 ") + (outputs_ == 4 ? "and 5 x 5 " : "") + "kernels at stride 1 without dilation";
  if (direction != ConvolutionDirection::forward && (s.ph >= s.kh || s.pw >= s.kw))
    return "pads by more than the kernel reaches";
  const bool same = with_structure(s, [&](auto f) {
    using F = decltype(f);
    const ConvolutionShape forward = as_forward(s, direction);
    return Parts<F>(forward, variant_) == Parts<F>(forward, winograd_variants[0]);
  });
  if (&variant_ != winograd_variants && same)
    return "does what " + WinogradConvolution(outputs_, winograd_variants[0]).name() + " does";
  return "";
}

/// The transforms take time with the channels, the products with their square; tiles that hang over edges are computed
/// in full.
bool WinogradConvolution::pays(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection) const {
  const i64 fewer = std::min(s.group_ic(), s.group_oc()), more = std::max(s.group_ic(), s.group_oc()),
            pixels = std::min(s.oh, s.ow);
  // The products are of float whatever is stored; other plans multiply bf16 faster, matrix units most of all.
  const int others = s.precision == Precision::bf16 ? spec.bf16_speed : 1;
  if (others > 1) return others == 2 && fewer >= 64 && more >= 128 && pixels >= 20;
  return fewer >= 48 && pixels >= 12;
}

i64 WinogradConvolution::workspace(CoreGroup&, const ConvolutionShape& shape, ConvolutionDirection direction) const {
  return with_structure(shape, [&](auto f) {
    using F = decltype(f);
    const ConvolutionShape s = as_forward(shape, direction);
    return Pieces<F>(s, Parts<F>(s, variant_)).floats;
  });
}

i64 WinogradConvolution::kept_weights(CoreGroup&, const ConvolutionShape& shape) const {
  return with_structure(shape, [&](auto f) { return shape.g * weights_as_points<decltype(f)>(shape); });
}

i64 WinogradConvolution::sum_parts(CoreGroup&, const ConvolutionShape& shape) const {
  if (shape.dst != Layout::nchw16c) return 0;
  return with_structure(shape, [&](auto f) { return shape.mb * ceil_div(shape.oh, f.outputs); });
}

void WinogradConvolution::run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                              const ConvolutionArguments& arguments, float* workspace) const {
  with_structure(shape, [&](auto f) { run_as<decltype(f)>(group, shape, direction, arguments, workspace); });
}

/// Group by group.
template <class F>
void WinogradConvolution::run_as(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                                 const ConvolutionArguments& arg, float* workspace) const {
  const bool turned = direction == ConvolutionDirection::input_gradient;
  const ConvolutionShape s = as_forward(shape, direction);
  const Parts<F> parts(s, variant_);
  const i64 weights = s.terms() * s.group_oc(), x = s.group_ic() * s.ih * s.iw, y = s.group_oc() * s.oh * s.ow;
  with_element(s.precision, [&](auto element) {
    using T = decltype(element);
    const T* const in = turned ? arg.dy_as<T>() : arg.x_as<T>();
    for (i64 g = 0; g < s.g; ++g) {
      if (direction == ConvolutionDirection::weight_gradient) {
        run_weight_gradient<F>(group, s, parts, in + g * x, arg.dy_as<T>() + g * y, arg.out_as<float>() + g * weights,
                               workspace);
        continue;
      }
      float* const points = arg.kept != nullptr ? arg.kept + g * weights_as_points<F>(s) : workspace;
      if (!arg.are_kept) transform_weights<F>(group, s, turned, arg.w + g * weights, points);
      float* const sums = arg.sums == nullptr ? nullptr : arg.sums + g * s.group_oc();
      run_forward<F>(group, s, parts, points, in + g * x, arg.out_as<T>() + g * y, sums, workspace);
    }
  });
}

}  // namespace

std::vector<std::unique_ptr<ConvolutionCandidate>> make_winograd_convolutions() {
  std::vector<std::unique_ptr<ConvolutionCandidate>> all;
  for (const auto& variant : winograd_variants) all.push_back(std::make_unique<WinogradConvolution>(4, variant));
  return all;
}
std::unique_ptr<ConvolutionCandidate> make_small_winograd_convolution() {
  return std::make_unique<WinogradConvolution>(2, winograd_variants[0]);
}

}  // namespace cortado
