#include "layers/convolution/columns/explicit.h"

#include <algorithm>

#include "layers/convolution/columns/columns.h"

namespace cortado {
namespace {
constexpr i64 column_floats = i64{8} << 20;               // 32 MiB of columns at a time
constexpr i64 partial_floats = i64{2} << 20;              // 8 MiB of partial weight gradients
constexpr i64 partial_floats_of_devices = i64{32} << 20;  // 128 MiB: devices want more products at the same time
constexpr i64 most_partials = 16;

i64 column_image(const ConvolutionShape& s) { return s.g * s.terms() * s.pixels(); }

/// Images whose columns are in memory together.
i64 chunk_of(const ConvolutionShape& s, Multiplier multiplier) {
  if (multiplier == Multiplier::published) return 1;
  if (s.is_pointwise()) return s.mb;
  return std::max<i64>(1, std::min(s.mb, column_floats / std::max<i64>(1, column_image(s))));
}

/// Weight gradients are summed over images in this many parallel partial sums; a number that does not depend on
/// threads, so that the result does not. Where a mesh shares a product there is nothing to run beside it.
i64 partials_of(const MachineSpec& spec, const ConvolutionShape& s, i64 chunk) {
  if (spec.mesh_rows * spec.mesh_cols > 1) return 1;
  const i64 weights = s.oc * s.terms(), most = spec.host_memory ? partial_floats : partial_floats_of_devices;
  i64 partials = 1;
  while (partials < most_partials && 2 * partials <= chunk && 2 * partials * weights <= most) partials *= 2;
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

/// The common part of the directions: images go through chunk by chunk, the last of which may be smaller.
struct Explicit {
  ConvolutionShape s;
  Multiplier multiplier;
  i64 chunk, partials;
  Planned<Im2col> to_columns, last_to_columns;
  Planned<Col2im> from_columns, last_from_columns;

  i64 columns() const { return s.is_pointwise() ? 0 : chunk * column_image(s); }
  i64 weights() const { return s.oc * s.terms(); }

  /// Calls work(first image, images) for every chunk.
  template <class Work>
  void for_chunks(const Work& work) const {
    for (i64 first = 0; first < s.mb; first += chunk) work(first, std::min(chunk, s.mb - first));
  }
  /// The columns of some images of x: made in `to`, or x itself.
  const float* make_columns(CoreGroup& group, const float* x, i64 images, float* to) const {
    if (s.is_pointwise()) return x;
    launch(group, images == chunk ? to_columns : last_to_columns, [&](auto& p) { p.x = x, p.columns = to; });
    return to;
  }

  void forward(CoreGroup& group, const ConvolutionArguments& arg, float* workspace) const {
    for_chunks([&](i64 first, i64 images) {
      const float* const matrix = make_columns(group, arg.x_as<float>() + first * s.src_image(), images, workspace);
      for (i64 g = 0; g < s.g; ++g)
        multiply(group, multiplier,
                 forward_product(s, images, arg.w + g * s.group_oc() * s.terms(), matrix + g * s.terms() * s.pixels(),
                                 arg.out_as<float>() + first * s.dst_image() + g * s.group_oc() * s.pixels()));
    });
  }

  /// Sums over images in an order of its own: image r of every partial sum in round r.
  void weight_gradient(CoreGroup& group, const ConvolutionArguments& arg, float* workspace) const {
    float* const sums = partials > 1 ? workspace : arg.out_as<float>();
    float* const columns = partials > 1 ? workspace + partials * weights() : workspace;
    if (partials > 1) group.zero(sums, static_cast<std::size_t>(partials * weights()) * sizeof(float));
    for_chunks([&](i64 first, i64 images) {
      const float* const matrix = make_columns(group, arg.x_as<float>() + first * s.src_image(), images, columns);
      // Rounds in which every partial sum takes an image, then what is left.
      const i64 rounds = images / partials, rest = images % partials;
      const auto add = [&](i64 skip, i64 count, i64 parts) {
        if (count * parts == 0) return;
        for (i64 g = 0; g < s.g; ++g)
          multiply(group, multiplier,
                   weight_product(s, count, parts,
                                  arg.dy_as<float>() + (first + skip) * s.dst_image() + g * s.group_oc() * s.pixels(),
                                  matrix + skip * column_image(s) + g * s.terms() * s.pixels(),
                                  sums + g * s.group_oc() * s.terms()));
      };
      add(0, partials, rounds);
      add(rounds * partials, rest, 1);
    });
    if (partials > 1) sum_columns(group, sums, partials, weights(), arg.out_as<float>());
  }

  /// The columns' gradients, then col2im.
  void input_gradient(CoreGroup& group, const ConvolutionArguments& arg, float* workspace) const {
    for_chunks([&](i64 first, i64 images) {
      float* const dx = arg.out_as<float>() + first * s.src_image();
      float* const matrix = s.is_pointwise() ? dx : workspace;
      for (i64 g = 0; g < s.g; ++g)
        multiply(group, multiplier,
                 input_product(s, images, arg.w + g * s.group_oc() * s.terms(),
                               arg.dy_as<float>() + first * s.dst_image() + g * s.group_oc() * s.pixels(),
                               matrix + g * s.terms() * s.pixels()));
      if (!s.is_pointwise())
        launch(group, images == chunk ? from_columns : last_from_columns,
               [&](auto& p) { p.columns = matrix, p.x = dx; });
    });
  }
};

/// Im2col and col2im are transfers: inputs once, columns once, in lines that are long.
double estimate(const MachineSpec& spec, const Explicit& e, ConvolutionDirection direction) {
  const ConvolutionShape& s = e.s;
  MatrixProduct product = forward_product(s, e.chunk, nullptr, nullptr, nullptr);
  if (direction == ConvolutionDirection::weight_gradient)
    product = weight_product(s, 1, e.chunk, nullptr, nullptr, nullptr);
  if (direction == ConvolutionDirection::input_gradient) product = input_product(s, e.chunk, nullptr, nullptr, nullptr);
  const double products = estimated_seconds(spec, e.multiplier, product);
  if (products == 0) return 0;
  const double floats = s.is_pointwise() ? 0 : static_cast<double>(e.chunk * (s.src_image() + column_image(s)));
  const double columns = floats > 0 ? spec.launch_seconds + 4 * floats / spec.bandwidth : 0;
  return static_cast<double>(s.mb) / static_cast<double>(e.chunk) * (static_cast<double>(s.g) * products + columns);
}

std::string refuse(CoreGroup& group, const ConvolutionShape& s, Multiplier multiplier) {
  if (const std::string reason = refuse_storage(s); !reason.empty()) return reason;
  if (multiplier == Multiplier::published && group.spec().mesh_cols == 1)
    return "it is a plan for meshes that share operands";
  return why_not(multiplier, group);
}

ConvolutionPlan plan_explicit(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction,
                              Multiplier multiplier) {
  const MachineSpec& spec = group.spec();
  ConvolutionPlan plan;
  plan.refused = refuse(group, s, multiplier);
  if (!plan.refused.empty()) return plan;
  const bool by_rows = multiplier == Multiplier::published;
  Explicit e{s, multiplier, chunk_of(s, multiplier), 1, {}, {}, {}, {}};
  const i64 last = e.chunk > 0 ? s.mb % e.chunk : 0;
  if (direction == ConvolutionDirection::weight_gradient) e.partials = partials_of(spec, s, e.chunk);
  if (!s.is_pointwise() && direction == ConvolutionDirection::input_gradient) {
    e.from_columns = plan_col2im(spec, s, e.chunk, by_rows, plan.refused);
    e.last_from_columns = plan_col2im(spec, s, last, by_rows, plan.refused);
  } else if (!s.is_pointwise()) {
    e.to_columns = plan_im2col(spec, s, e.chunk, by_rows, plan.refused);
    e.last_to_columns = plan_im2col(spec, s, last, by_rows, plan.refused);
  }
  plan.workspace = e.columns() + (e.partials > 1 ? e.partials * e.weights() : 0);
  plan.estimate = estimate(spec, e, direction);
  plan.run = [e, direction](CoreGroup& on, const ConvolutionArguments& arg, float* workspace) {
    switch (direction) {
      case ConvolutionDirection::forward: return e.forward(on, arg, workspace);
      case ConvolutionDirection::weight_gradient: return e.weight_gradient(on, arg, workspace);
      case ConvolutionDirection::input_gradient: return e.input_gradient(on, arg, workspace);
    }
  };
  return plan;
}

}  // namespace

ConvolutionCandidate::Planner explicit_convolution(Multiplier multiplier) {
  return [multiplier](CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) {
    return plan_explicit(group, shape, direction, multiplier);
  };
}

}  // namespace cortado
