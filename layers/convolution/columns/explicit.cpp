#include <algorithm>

#include "layers/convolution/candidates.h"
#include "layers/convolution/columns/columns.h"
#include "layers/gemm/gemm.h"

namespace cortado {
namespace {
constexpr i64 column_floats = i64{8} << 20;   // 32 MiB of columns at a time
constexpr i64 partial_floats = i64{2} << 20;  // 8 MiB of partial weight gradients
constexpr i64 most_partials = 16;

/// swCaffe's explicit plan (section IV-B1): im2col, then a matrix product for each image and group; images in parallel.
/// As published, image by image, im2col and col2im row by row, nothing double-buffered but the product.
class ExplicitConvolution : public ConvolutionCandidate {
 public:
  ExplicitConvolution(std::string name, Multiplier multiplier) : name_(std::move(name)), multiplier_(multiplier) {}
  bool published() const { return multiplier_ == Multiplier::published; }

  std::string name() const override { return name_; }
  std::string refuse(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  i64 workspace(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  double estimate(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  void run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
           const ConvolutionArguments& arguments, float* workspace) const override;

 private:
  void forward(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg, float* columns) const;
  void weight_gradient(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg,
                       float* workspace) const;
  void input_gradient(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg,
                      float* columns) const;
  i64 chunk_of(const ConvolutionShape& s) const;
  i64 partials_of(const MachineSpec& spec, const ConvolutionShape& s) const;

  std::string name_;
  Multiplier multiplier_;
};

i64 column_image(const ConvolutionShape& s) { return s.g * s.terms() * s.pixels(); }

/// Images whose columns are in memory together.
i64 ExplicitConvolution::chunk_of(const ConvolutionShape& s) const {
  if (published()) return 1;
  if (s.is_pointwise()) return s.mb;
  return std::max<i64>(1, std::min(s.mb, column_floats / std::max<i64>(1, column_image(s))));
}

/// Weight gradients are summed over images in this many parallel partial sums; a number that does not depend on
/// threads, so that the result does not. Where a mesh shares a product there is nothing to run beside it.
i64 ExplicitConvolution::partials_of(const MachineSpec& spec, const ConvolutionShape& s) const {
  if (spec.mesh_rows * spec.mesh_cols > 1) return 1;
  const i64 weights = s.oc * s.terms();
  i64 partials = 1;
  while (partials < most_partials && 2 * partials <= chunk_of(s) && 2 * partials * weights <= partial_floats)
    partials *= 2;
  return partials;
}

/// y (oc x pixels) = w (oc x terms) columns (terms x pixels) of one group, for each image.
MatrixProduct forward_product(const ConvolutionShape& s, i64 images, const float* w, const float* columns, float* y) {
  MatrixProduct p;
  p.gemm = {false, false, s.group_oc(), s.pixels(), s.terms(), 1, w, s.terms(), columns, s.pixels(), 0, y, s.pixels()};
  p.count = images;
  p.stride_b = column_image(s);
  p.stride_y = s.dst_image();
  return p;
}

/// dw (oc x terms) += dy (oc x pixels) columns^T (pixels x terms), `partials` sums of `parts` images each.
MatrixProduct weight_product(const ConvolutionShape& s, i64 partials, i64 parts, const float* dy, const float* columns,
                             float* dw) {
  MatrixProduct p;
  p.gemm = {false, true, s.group_oc(), s.terms(), s.pixels(), 1, dy, s.pixels(), columns, s.pixels(), 1, dw, s.terms()};
  p.count = partials;
  p.stride_a = s.dst_image();
  p.stride_b = column_image(s);
  p.stride_y = s.oc * s.terms();
  p.parts = parts;
  p.part_a = partials * s.dst_image();
  p.part_b = partials * column_image(s);
  return p;
}

/// columns (terms x pixels) = w^T (terms x oc) dy (oc x pixels) of one group, for each image.
MatrixProduct input_product(const ConvolutionShape& s, i64 images, const float* w, const float* dy, float* columns) {
  MatrixProduct p;
  p.gemm = {true, false, s.terms(), s.pixels(), s.group_oc(), 1, w, s.terms(), dy, s.pixels(), 0, columns, s.pixels()};
  p.count = images;
  p.stride_b = s.dst_image();
  p.stride_y = column_image(s);
  return p;
}

/// Im2col and col2im are transfers: inputs once, columns once, in lines that are long.
double ExplicitConvolution::estimate(CoreGroup& group, const ConvolutionShape& s,
                                     ConvolutionDirection direction) const {
  const MachineSpec& spec = group.spec();
  const i64 chunk = chunk_of(s);
  MatrixProduct product = forward_product(s, chunk, nullptr, nullptr, nullptr);
  if (direction == ConvolutionDirection::weight_gradient)
    product = weight_product(s, 1, chunk, nullptr, nullptr, nullptr);
  if (direction == ConvolutionDirection::input_gradient) product = input_product(s, chunk, nullptr, nullptr, nullptr);
  const double products = estimated_seconds(spec, multiplier_, product);
  if (products == 0) return 0;
  const double floats = s.is_pointwise() ? 0 : static_cast<double>(chunk * (s.src_image() + column_image(s)));
  const double columns = floats > 0 ? spec.launch_seconds + 4 * floats / spec.bandwidth : 0;
  return static_cast<double>(s.mb) / static_cast<double>(chunk) * (static_cast<double>(s.g) * products + columns);
}

std::string ExplicitConvolution::refuse(CoreGroup& group, const ConvolutionShape& shape,
                                        ConvolutionDirection direction) const {
  if (const std::string reason = refuse_storage(shape); !reason.empty()) return reason;
  if (published() && group.spec().mesh_cols == 1) return "it is a plan for meshes that share operands";
  const std::string reason = why_not(multiplier_, group);
  if (!reason.empty() || shape.is_pointwise()) return reason;
  return direction == ConvolutionDirection::input_gradient ? refuse_col2im(group.spec(), shape)
                                                           : refuse_im2col(group.spec(), shape);
}

i64 ExplicitConvolution::workspace(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction) const {
  const i64 columns = s.is_pointwise() ? 0 : chunk_of(s) * column_image(s);
  const i64 partials = partials_of(group.spec(), s);
  const bool sums = direction == ConvolutionDirection::weight_gradient && partials > 1;
  return columns + (sums ? partials * s.oc * s.terms() : 0);
}

void ExplicitConvolution::run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                              const ConvolutionArguments& arguments, float* workspace) const {
  switch (direction) {
    case ConvolutionDirection::forward: return forward(group, shape, arguments, workspace);
    case ConvolutionDirection::weight_gradient: return weight_gradient(group, shape, arguments, workspace);
    case ConvolutionDirection::input_gradient: return input_gradient(group, shape, arguments, workspace);
  }
}

void ExplicitConvolution::forward(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg,
                                  float* columns) const {
  const i64 chunk = chunk_of(s);
  for (i64 first = 0; first < s.mb; first += chunk) {
    const i64 images = std::min(chunk, s.mb - first);
    const float* matrix = arg.x_as<float>() + first * s.src_image();
    if (!s.is_pointwise()) {
      run_im2col(group, s, matrix, images, columns, published());
      matrix = columns;
    }
    for (i64 g = 0; g < s.g; ++g)
      multiply(group, multiplier_,
               forward_product(s, images, arg.w + g * s.group_oc() * s.terms(), matrix + g * s.terms() * s.pixels(),
                               arg.out_as<float>() + first * s.dst_image() + g * s.group_oc() * s.pixels()));
  }
}

/// Sums over images in an order of its own: image r of every partial sum in round r.
void ExplicitConvolution::weight_gradient(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg,
                                          float* workspace) const {
  const i64 chunk = chunk_of(s), partials = partials_of(group.spec(), s), weights = s.oc * s.terms();
  float* const sums = partials > 1 ? workspace : arg.out_as<float>();
  float* const columns = partials > 1 ? workspace + partials * weights : workspace;
  if (partials > 1) group.zero(sums, static_cast<std::size_t>(partials * weights) * sizeof(float));
  for (i64 first = 0; first < s.mb; first += chunk) {
    const i64 images = std::min(chunk, s.mb - first);
    const float* matrix = arg.x_as<float>() + first * s.src_image();
    if (!s.is_pointwise()) {
      run_im2col(group, s, matrix, images, columns, published());
      matrix = columns;
    }
    // Rounds in which every partial sum takes an image, then what is left.
    const i64 rounds = images / partials, rest = images % partials;
    const auto add = [&](i64 skip, i64 count, i64 parts) {
      if (count * parts == 0) return;
      for (i64 g = 0; g < s.g; ++g)
        multiply(group, multiplier_,
                 weight_product(s, count, parts,
                                arg.dy_as<float>() + (first + skip) * s.dst_image() + g * s.group_oc() * s.pixels(),
                                matrix + skip * column_image(s) + g * s.terms() * s.pixels(),
                                sums + g * s.group_oc() * s.terms()));
    };
    add(0, partials, rounds);
    add(rounds * partials, rest, 1);
  }
  if (partials > 1) sum_to_bias(group, sums, partials, weights, 1, arg.out_as<float>());
}

/// The columns' gradients, then col2im.
void ExplicitConvolution::input_gradient(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg,
                                         float* columns) const {
  const i64 chunk = chunk_of(s);
  for (i64 first = 0; first < s.mb; first += chunk) {
    const i64 images = std::min(chunk, s.mb - first);
    float* const dx = arg.out_as<float>() + first * s.src_image();
    float* const matrix = s.is_pointwise() ? dx : columns;
    for (i64 g = 0; g < s.g; ++g)
      multiply(group, multiplier_,
               input_product(s, images, arg.w + g * s.group_oc() * s.terms(),
                             arg.dy_as<float>() + first * s.dst_image() + g * s.group_oc() * s.pixels(),
                             matrix + g * s.terms() * s.pixels()));
    if (!s.is_pointwise()) run_col2im(group, s, columns, images, dx, published());
  }
}

}  // namespace

std::unique_ptr<ConvolutionCandidate> make_explicit_convolution() {
  return std::make_unique<ExplicitConvolution>("explicit", Multiplier::library);
}

std::unique_ptr<ConvolutionCandidate> make_explicit_tile_convolution() {
  return std::make_unique<ExplicitConvolution>("explicit_tile", Multiplier::tile_program);
}

std::unique_ptr<ConvolutionCandidate> make_published_explicit_convolution() {
  return std::make_unique<ExplicitConvolution>("explicit_paper", Multiplier::published);
}

}  // namespace cortado
