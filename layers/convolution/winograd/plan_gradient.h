#pragma once
#include <vector>

#include "layers/convolution/planning.h"
#include "layers/convolution/winograd/edges.h"
#include "layers/convolution/winograd/winograd.h"

namespace cortado {

template <class F, bool gradients, class T>
void book(WinogradTransform<F, gradients, T>& p, PlanBuilder& book) {
  p.pixels.buf = book.tile<float>("pixels", p.pixels.floats(), 1);
  p.v_buf = book.tile<float>("points", F::products * winograd::lanes, 1);
}

template <class F>
void book(WinogradGradient<F>& p, PlanBuilder& book) {
  const i64 block = winograd::lanes * winograd::lanes, weights = p.line_terms * p.taps * winograd::lanes;
  p.x_buf = book.spill<float>("points of inputs", p.in_groups * p.of_x.count() * winograd::lanes);
  p.dy_buf = book.spill<float>("points of gradients", p.out_groups * p.of_y.count() * winograd::lanes);
  p.acc_buf = book.spill<float>("sums", F::products * p.in_groups * p.out_groups * block);
  p.old_buf = book.tile<float>("old weights", weights, 1);
  p.dw_buf = book.tile<float>("weights", weights, 1);
}

namespace winograd {

/// The program with slices of 64 inputs by 32 outputs, or fewer where that leaves equal work for every CPE.
template <class F>
WinogradGradient<F> gradient_program(const MachineSpec& spec, const WinogradTiles& of_x, const WinogradTiles& of_y) {
  WinogradGradient<F> p{};
  p.of_x = of_x, p.of_y = of_y;
  p.in_groups = even_part(of_x.groups(), 4), p.out_groups = even_part(of_y.groups(), 2);
  p.line_terms = line_terms;
  const auto is_too_coarse = [&] { return !spec.is_spread(p.tiles()); };
  shrink(p.in_groups, of_x.groups(), is_too_coarse);
  if (is_too_coarse()) p.out_groups = 1;
  return p;
}

/// The part that a weight gradient works on at a time: whole images, or some rows of tiles of one. Its points stay in a
/// cache.
template <class F>
struct Parts {
  i64 images, rows, cols;  ///< of tiles; rows of one image
  i64 all_rows;

  Parts(const ConvolutionShape& s, i64 cached) {
    all_rows = ceil_div(s.oh, F::outputs), cols = ceil_div(s.ow, F::outputs);
    const i64 of_tile = F::products * (padded(s.group_ic()) + padded(s.group_oc())),
              most = std::max<i64>(1, cached / of_tile);
    images = even_part(s.mb, most / (all_rows * cols));
    rows = images > 1 ? all_rows : even_part(all_rows, most / cols);
  }
  i64 tiles() const { return images * rows * cols; }
  /// The floats of the points of inputs, or of gradients.
  i64 floats(i64 channels) const { return F::products * distance(tiles(), channels); }
};

/// The programs for a part: points of inputs and of gradients, then their products and the weights' gradients.
template <class F, class T>
struct GradientStep {
  i64 image;  ///< the first
  Planned<WinogradTransform<F, false, T>> inputs;
  Planned<WinogradTransform<F, true, T>> gradients;
  Planned<WinogradGradient<F>> products;
};

template <class F, class T>
std::vector<GradientStep<F, T>> steps_of(const MachineSpec& spec, const ConvolutionShape& s, const Parts<F>& parts,
                                         std::string& refused) {
  std::vector<GradientStep<F, T>> steps;
  for (i64 image = 0; image < s.mb; image += parts.images)
    for (i64 row = 0; row < parts.all_rows; row += parts.rows) {
      const i64 rows = std::min(parts.rows, parts.all_rows - row);
      const bool ends = row + rows == parts.all_rows;
      const WinogradTiles of_x{
          std::min(parts.images, s.mb - image),      s.group_ic(),         s.ic, row, rows, parts.cols,
          ends ? last_outputs<F>(s.oh) : F::outputs, last_outputs<F>(s.ow)};
      WinogradTiles of_y = of_x;
      of_y.channels = s.group_oc(), of_y.image_channels = s.oc;
      const WinogradTransform<F, false, T> inputs{{nullptr, s.ih, s.iw, s.ph, s.pw, s.src, of_x, {}}, nullptr, {}};
      const WinogradTransform<F, true, T> gradients{{nullptr, s.oh, s.ow, 0, 0, s.dst, of_y, {}}, nullptr, {}};
      const auto products = gradient_program<F>(spec, of_x, of_y);
      steps.push_back({image, planned(spec, inputs, of_x.lines(), refused),
                       planned(spec, gradients, of_y.lines(), refused),
                       planned(spec, products, products.tiles(), refused)});
    }
  return steps;
}

/// The exact transpose of the forward algorithm, part by part of the batch, group by group.
template <class F, class T>
ConvolutionPlan plan_weight_gradient(const MachineSpec& spec, const ConvolutionShape& s,
                                     const WinogradVariant& variant) {
  const Parts<F> parts(s, variant.cached);
  ConvolutionPlan plan;
  const auto steps = steps_of<F, T>(spec, s, parts, plan.refused);
  if (!plan.refused.empty()) plan.refused = "a row of tiles, with all its products, does not fit the scratchpad";
  const i64 of_x = parts.floats(s.group_ic());
  plan.decisions = {parts.images, parts.rows, F::points};
  plan.workspace = of_x + parts.floats(s.group_oc());
  plan.sets = true;
  auto sets = steps.front().products;
  sets.program.sets = true;
  sets.plan.streams = true;  // nobody reads it before the other layers' gradients are made
  plan.run = [steps, sets, s, of_x](CoreGroup& group, const ConvolutionArguments& arg, float* workspace) {
    float *const x = workspace, *const dy = workspace + of_x;
    for (i64 g = 0; g < s.g; ++g)
      for (const auto& step : steps) {
        launch(group, step.inputs, [&](auto& p) {
          p.pixels.x = arg.x_as<T>() + g * s.group_ic() * s.ih * s.iw + step.image * s.src_image(), p.v = x;
        });
        launch(group, step.gradients, [&](auto& p) {
          p.pixels.x = arg.dy_as<T>() + g * s.group_oc() * s.oh * s.ow + step.image * s.dst_image(), p.v = dy;
        });
        launch(group, arg.sets && &step == &steps.front() ? sets : step.products,
               [&](auto& p) { p.x = x, p.dy = dy, p.dw = arg.out_as<float>() + g * s.terms() * s.group_oc(); });
      }
  };
  return plan;
}

}  // namespace winograd
}  // namespace cortado
