#pragma once
#include "layers/convolution/candidates.h"
#include "layers/convolution/columns/columns.h"
#include "layers/gemm/gemm.h"

namespace cortado::test {

/// The smallest candidate that convolves: forward, image by image, im2col and one product. It shows what a new
/// candidate is: a planner in a folder of its own and a row of the table (`toy_row`).
inline ConvolutionPlan plan_toy(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction) {
  ConvolutionPlan plan;
  plan.refused = refuse_storage(s);
  if (plan.refused.empty() && direction != ConvolutionDirection::forward) plan.refused = "is a toy: it goes forward";
  if (plan.refused.empty() && s.g > 1) plan.refused = "is a toy: it takes one group";
  if (!plan.refused.empty()) return plan;
  const auto columns = plan_im2col(group.spec(), s, 1, false, plan.refused);
  plan.workspace = s.terms() * s.pixels();
  plan.run = [s, columns](CoreGroup& on, const ConvolutionArguments& arg, float* workspace) {
    for (i64 n = 0; n < s.mb; ++n) {
      launch(on, columns, [&](auto& p) { p.x = arg.x_as<float>() + n * s.src_image(), p.columns = workspace; });
      multiply(on, Multiplier::tile_program,
               MatrixLibrary::Gemm{false, false, s.oc, s.pixels(), s.terms(), 1, arg.w, s.terms(), workspace,
                                   s.pixels(), 0, arg.out_as<float>() + n * s.dst_image(), s.pixels()});
    }
  };
  return plan;
}

inline ConvolutionCandidate toy_row() { return {"toy", "im2col and one product, image by image", plan_toy}; }

}  // namespace cortado::test
