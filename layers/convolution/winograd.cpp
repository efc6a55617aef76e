#include <algorithm>

#include "layers/convolution/candidates.h"
#include "layers/convolution/winograd_programs.h"
#include "layers/gemm/gemm.h"

namespace cortado {
namespace {

i64 ceil_div(i64 n, i64 by) { return (n + by - 1) / by; }

/// F(4x4, 3x3) in three steps for a part of the batch at a time: inputs to 36 matrices, 36 products, and back. The
/// input gradient is the forward convolution with turned weights; the weight gradient is the exact transpose of the
/// forward algorithm. Errors: about ten times those of the other plans, see docs/layers.md.
class WinogradConvolution : public ConvolutionCandidate {
 public:
  std::string name() const override { return "winograd"; }
  std::string refuse(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  i64 workspace(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  void run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
           const ConvolutionArguments& arguments, float* workspace) const override;
};

/// The forward convolution that an input gradient at stride 1 is.
ConvolutionShape gradient_shape(ConvolutionShape s) {
  std::swap(s.ic, s.oc);
  std::swap(s.ih, s.oh);
  std::swap(s.iw, s.ow);
  s.ph = winograd::kernel - 1 - s.ph, s.pw = winograd::kernel - 1 - s.pw;
  return s;
}

/// What is worked on at a time: whole images, or some rows of tiles of one, so that the matrices stay in a cache; not
/// so few that the weights, which every part reads, cost more.
struct Parts {
  i64 images, rows, cols;  ///< of tiles; rows of one image
  i64 all_rows;

  explicit Parts(const ConvolutionShape& s) {
    constexpr i64 cached = i64{2} << 20;  // floats
    all_rows = ceil_div(s.oh, winograd::outputs), cols = ceil_div(s.ow, winograd::outputs);
    const i64 of_tile = winograd::products * (s.ic + s.oc), weights = winograd::products * s.ic * s.oc;
    const i64 most = std::max<i64>(1, std::max(cached, 2 * weights) / of_tile);
    images = std::clamp<i64>(most / (all_rows * cols), 1, s.mb);
    rows = images > 1 ? all_rows : std::clamp<i64>(most / cols, 1, all_rows);
  }
  i64 tiles() const { return images * rows * cols; }
};

/// Where the pieces of the workspace begin.
struct Workspace {
  i64 u, x, y, padded_x, padded_y, floats;

  Workspace(const ConvolutionShape& s, const Parts& parts) {
    const i64 tiles = parts.tiles(),
              plane = parts.images * (parts.rows * winograd::outputs + 2) * (parts.cols * winograd::outputs + 2);
    u = 0;
    x = u + winograd::products * s.ic * s.oc + 9 * s.ic * s.oc;
    y = x + winograd::products * s.ic * tiles;
    padded_x = y + winograd::products * s.oc * tiles;
    padded_y = padded_x + plane * s.ic;
    floats = padded_y + plane * s.oc;
  }
};

template <bool gradients>
void transform(CoreGroup& group, const float* x, float* padded, float* v, i64 height, i64 width, i64 pad_h, i64 pad_w,
               const WinogradTiles& tiles) {
  WinogradTransform<gradients> p;
  static_cast<WinogradPlanes&>(p) = {
      x, padded, v, height, width, pad_h, pad_w, gradients ? winograd::outputs : winograd::points, tiles, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.x_buf = book.line("plane", 4 * height * width, Depth::two);
  p.padded_buf = book.line("padded", 4 * p.padded_height() * p.padded_width(), 1);
  p.v_buf = book.line("points", 4 * winograd::products * tiles.cols, 1);
  group.launch(p, book.plan(tiles.images * tiles.channels));
}

/// Calls work(first image, tiles of x, tiles of y) for each part.
template <class F>
void for_parts(const ConvolutionShape& s, const Parts& parts, F work) {
  for (i64 image = 0; image < s.mb; image += parts.images)
    for (i64 row = 0; row < parts.all_rows; row += parts.rows) {
      WinogradTiles tiles{std::min(parts.images, s.mb - image), s.ic, row, std::min(parts.rows, parts.all_rows - row),
                          parts.cols};
      WinogradTiles of_y = tiles;
      of_y.channels = s.oc;
      work(image, tiles, of_y);
    }
}

void run_forward(CoreGroup& group, const ConvolutionShape& s, bool turned, const ConvolutionArguments& arg,
                 const float* in, float* workspace) {
  const Parts parts(s);
  const Workspace at(s, parts);
  WinogradWeights weights{arg.w, workspace + at.u, turned ? s.ic : s.oc, turned ? s.oc : s.ic, turned, {}, {}};
  PlanBuilder weight_book(group.spec());
  weights.w_buf = weight_book.line("weights", 4 * 9 * s.ic, Depth::two);
  weights.u_buf = weight_book.line("points", 4 * winograd::products * s.ic, 1);
  group.launch(weights, weight_book.plan(s.oc));
  for_parts(s, parts, [&](i64 image, const WinogradTiles& of_x, const WinogradTiles& of_y) {
    transform<false>(group, in + image * s.src_image(), workspace + at.padded_x, workspace + at.x, s.ih, s.iw, s.ph,
                     s.pw, of_x);
    MatrixProduct product;
    auto& g = product.gemm;
    g.m = s.oc, g.n = of_x.count(), g.k = s.ic;
    g.a = workspace + at.u, g.lda = s.ic;
    g.b = workspace + at.x, g.ldb = g.n;
    g.beta = 0, g.y = workspace + at.y, g.ldy = g.n;
    product.count = winograd::products;
    product.stride_a = s.oc * s.ic, product.stride_b = s.ic * g.n, product.stride_y = s.oc * g.n;
    multiply(group, Multiplier::tile_program, product);
    WinogradOutputs p{
        workspace + at.y, workspace + at.padded_y, arg.out + image * s.dst_image(), s.oh, s.ow, of_y, {}, {}, {}};
    PlanBuilder book(group.spec());
    p.m_buf = book.line("points", 4 * winograd::products * of_y.cols, Depth::two);
    p.pixel_buf = book.line("pixels", 4 * 16 * of_y.cols, 1);
    p.y_buf = book.line("rows", 4 * winograd::outputs * s.ow, 1);
    group.launch(p, book.plan(of_y.images * of_y.channels * of_y.rows));
  });
}

void run_weight_gradient(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg,
                         float* workspace) {
  const Parts parts(s);
  const Workspace at(s, parts);
  bool first = true;
  for_parts(s, parts, [&](i64 image, const WinogradTiles& of_x, const WinogradTiles& of_y) {
    transform<false>(group, arg.x + image * s.src_image(), workspace + at.padded_x, workspace + at.x, s.ih, s.iw, s.ph,
                     s.pw, of_x);
    transform<true>(group, arg.dy + image * s.dst_image(), workspace + at.padded_y, workspace + at.y, s.oh, s.ow, 0, 0,
                    of_y);
    MatrixProduct product;
    auto& g = product.gemm;
    g.m = s.oc, g.n = s.ic, g.k = of_x.count();
    g.a = workspace + at.y, g.lda = g.k;
    g.transpose_b = true, g.b = workspace + at.x, g.ldb = g.k;
    g.beta = first ? 0.0f : 1.0f, g.y = workspace + at.u, g.ldy = s.ic;
    product.count = winograd::products;
    product.stride_a = s.oc * g.k, product.stride_b = s.ic * g.k, product.stride_y = s.oc * s.ic;
    multiply(group, Multiplier::tile_program, product);
    first = false;
  });
  WinogradWeightGradient p{
      workspace + at.u, arg.out, s.oc, s.ic, {}, {}, {}, workspace + at.u + winograd::products * s.oc * s.ic};
  PlanBuilder book(group.spec());
  p.du_buf = book.line("points", 4 * winograd::products * s.ic, Depth::two);
  p.t_buf = book.line("kernel", 4 * 9 * s.ic, 1);
  p.dw_buf = book.line("weights", 4 * 9 * s.ic, 1);
  group.launch(p, book.plan(s.oc));
}

std::string WinogradConvolution::refuse(CoreGroup& group, const ConvolutionShape& s,
                                        ConvolutionDirection direction) const {
  const MachineSpec& spec = group.spec();
  if (spec.mesh_cols > 1 || !spec.host_memory)
    return "keeps planes and 36 matrices where a cache holds them: written for cores with caches";
  if (s.kh != winograd::kernel || s.kw != winograd::kernel || s.sh != 1 || s.sw != 1 || s.dh != 1 || s.dw != 1)
    return "is for 3 x 3 kernels at stride 1 without dilation";
  if (s.g != 1) return "is for one group";
  if (direction != ConvolutionDirection::forward && (s.ph >= winograd::kernel || s.pw >= winograd::kernel))
    return "pads by more than the kernel reaches";
  return "";
}

i64 WinogradConvolution::workspace(CoreGroup&, const ConvolutionShape& shape, ConvolutionDirection direction) const {
  const ConvolutionShape s = direction == ConvolutionDirection::input_gradient ? gradient_shape(shape) : shape;
  return Workspace(s, Parts(s)).floats;
}

void WinogradConvolution::run(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction,
                              const ConvolutionArguments& arg, float* workspace) const {
  switch (direction) {
    case ConvolutionDirection::forward: return run_forward(group, s, false, arg, arg.x, workspace);
    case ConvolutionDirection::weight_gradient: return run_weight_gradient(group, s, arg, workspace);
    case ConvolutionDirection::input_gradient:
      return run_forward(group, gradient_shape(s), true, arg, arg.dy, workspace);
  }
}

}  // namespace

std::unique_ptr<ConvolutionCandidate> make_winograd_convolution() { return std::make_unique<WinogradConvolution>(); }

}  // namespace cortado
