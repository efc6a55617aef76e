#include "layers/convolution/candidates.h"

#include <algorithm>

#include "core/base/error.h"
#include "layers/convolution/columns/explicit.h"
#include "layers/convolution/depthwise/depthwise.h"
#include "layers/convolution/direct/direct.h"
#include "layers/convolution/few/few.h"
#include "layers/convolution/implicit/implicit.h"
#include "layers/convolution/merged/merged.h"
#include "layers/convolution/published/published.h"
#include "layers/convolution/sampled/sampled.h"
#include "layers/convolution/strassen/strassen.h"
#include "layers/convolution/vendor/vendor.h"
#include "layers/convolution/winograd/winograd.h"

namespace cortado {
namespace {

std::deque<ConvolutionCandidate>& table() {
  using Form = WinogradVariant::Form;
  using Blocks = ConvolutionCandidate::Blocks;
  using Method = ConvolutionLibrary::Method;
  constexpr Blocks planes = Blocks::none, blocks = Blocks::of_a_group, shared_blocks = Blocks::of_groups;
  static std::deque<ConvolutionCandidate> rows = {
      {"vendor_winograd", "the machine's convolution library by Winograd's algorithm, for 3 x 3 kernels",
       vendor_convolution(Method::winograd), planes, vendor_winograd_pays},
      {"vendor", "the machine's convolution library: cuDNN on CUDA", vendor_convolution(Method::plain), planes,
       vendor_pays},
      {"few_channels",
       "groups of up to eight channels: rows of a group at a time, on machines that work out of scratchpads",
       plan_few_channels, planes, few_channels_pay},
      {"depthwise",
       "one channel per group, or two, four or eight in blocks: a band of rows of sixteen channels at a time",
       plan_depthwise, shared_blocks, depthwise_pays},
      {"winograd",
       "3 x 3 to 5 x 5 kernels, and larger ones at strides, with fewer products: F(6x6, 3x3) or F(4x4, 3x3), "
       "F(5x5, 4x4), F(4x4, 5x5), on machines with caches",
       winograd_convolution({}), blocks, winograd_pays},
      {"strassen", "1 x 1 kernels of many channels in blocks, with an eighth fewer products", plan_strassen, blocks,
       strassen_pays},
      {"sampled", "1 x 1 kernels at strides, on the pixels that they read alone", plan_sampled, blocks, sampled_pays},
      {"direct", "the tile program with vectors along output channels, on machines with caches", direct_convolution({}),
       blocks, direct_pays},
      {"winograd_2x2", "3 x 3 kernels with F(2x2, 3x3): fewer products saved, errors of plain sums",
       winograd_convolution({true}), blocks, winograd_pays},
      {"explicit", "im2col, then the machine's matrix library", explicit_convolution(Multiplier::library), planes},
      {"explicit_tile", "im2col, then the tile program of swCaffe section IV-A",
       explicit_convolution(Multiplier::tile_program), planes},
      {"implicit", "the tile program on pixels and their halo, without columns (IV-B2)", plan_implicit, planes},
      {"explicit_paper", "swCaffe's explicit plan as published, to measure against; on meshes only",
       explicit_convolution(Multiplier::published), planes},
      {"implicit_paper", "swCaffe's implicit plan as published, to measure against; on meshes only",
       plan_published_implicit, planes},
      {"vendor:second", "the library's second algorithm, as it reckons", vendor_convolution(Method::plain, 1), planes,
       vendor_pays, "vendor"},
      {"vendor:third", "the library's third", vendor_convolution(Method::plain, 2), planes, vendor_pays, "vendor"},
      {"winograd:4x4", "F(4x4, 3x3) where `winograd` takes F(6x6, 3x3)", winograd_convolution({false, true}), blocks,
       winograd_pays, "winograd"},
      {"winograd:small_parts", "weight gradients as by `winograd`, a quarter as much of the batch at a time",
       winograd_convolution({false, false, i64{1} << 20}), blocks, winograd_pays, "winograd"},
      {"winograd:large_parts", "weight gradients as by `winograd`, four times as much of the batch at a time",
       winograd_convolution({false, false, i64{16} << 20}), blocks, winograd_pays, "winograd"},
      {"winograd:wide_tiles", "the other directions with few tiles by many outputs multiplied at a time",
       winograd_convolution({false, false, i64{4} << 20, Form::wide}), blocks, winograd_pays, "winograd"},
      {"winograd:tall_tiles", "the other directions with many tiles by few outputs multiplied at a time",
       winograd_convolution({false, false, i64{4} << 20, Form::tall}), blocks, winograd_pays, "winograd"},
      {"direct:small_blocks", "`direct` on blocks of half as many pixels", direct_convolution({112}), blocks,
       direct_pays, "direct"},
      {"direct:large_blocks", "`direct` on blocks of twice as many pixels", direct_convolution({448}), blocks,
       direct_pays, "direct"},
      {"direct:by_channels", "`direct` with output channels shared out over cores first",
       direct_convolution({224, DirectVariant::Split::channels}), blocks, direct_pays, "direct"},
      {"direct:by_images", "`direct` with images (weight gradients) shared out over cores first",
       direct_convolution({224, DirectVariant::Split::images}), blocks, direct_pays, "direct"}};
  return rows;
}

}  // namespace

const char* to_string(ConvolutionDirection direction) {
  switch (direction) {
    case ConvolutionDirection::forward: return "forward";
    case ConvolutionDirection::weight_gradient: return "weight_gradient";
    case ConvolutionDirection::input_gradient: return "input_gradient";
  }
  return "";
}

const std::deque<ConvolutionCandidate>& convolution_candidates() { return table(); }
void add_convolution_candidate(ConvolutionCandidate candidate) { table().push_back(std::move(candidate)); }

ConvolutionPlan ConvolutionCandidate::plan(CoreGroup& group, const ConvolutionShape& shape,
                                           ConvolutionDirection direction) const {
  ConvolutionPlan plan =
      blocks == Blocks::of_a_group ? plan_merged(group, shape, direction, make) : make(group, shape, direction);
  if (!plan.refused.empty() || variant_of.empty()) return plan;
  const auto usual = std::find_if(table().begin(), table().end(), [&](const auto& c) { return c.name == variant_of; });
  if (usual != table().end() && plan.decisions == usual->plan(group, shape, direction).decisions)
    plan.refused = "does what " + variant_of + " does";
  return plan;
}

}  // namespace cortado
