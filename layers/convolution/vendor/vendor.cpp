#include "layers/convolution/vendor/vendor.h"

#include <algorithm>

#include "core/machine/integers.h"

namespace cortado {
namespace {

ConvolutionLibrary::Product product_of(ConvolutionDirection direction) {
  switch (direction) {
    case ConvolutionDirection::forward: return ConvolutionLibrary::Product::forward;
    case ConvolutionDirection::weight_gradient: return ConvolutionLibrary::Product::weight_gradient;
    case ConvolutionDirection::input_gradient: break;
  }
  return ConvolutionLibrary::Product::input_gradient;
}

ConvolutionPlan plan_vendor(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction,
                            ConvolutionLibrary::Method method, int quicker) {
  ConvolutionPlan plan;
  ConvolutionLibrary* const library = group.convolutions();
  plan.refused = library == nullptr ? group.why_no_convolutions() : refuse_storage(s);
  if (!plan.refused.empty()) return plan;
  const std::shared_ptr<ConvolutionLibrary::Convolution> convolution =
      library->prepare({s.mb, s.ic, s.ih, s.iw, s.oc, s.oh, s.ow, s.g, s.kh, s.kw, s.sh, s.sw, s.ph, s.pw, s.dh, s.dw},
                       product_of(direction), method, quicker, plan.refused);
  if (convolution == nullptr) return plan;
  plan.decisions = {quicker};
  plan.workspace = ceil_div(convolution->workspace_bytes(), static_cast<i64>(sizeof(float)));
  plan.sets = direction == ConvolutionDirection::weight_gradient;
  plan.run = [convolution, direction](CoreGroup&, const ConvolutionArguments& arg, float* workspace) {
    auto* const out = arg.out_as<float>();
    switch (direction) {
      case ConvolutionDirection::forward: return convolution->run(arg.x_as<float>(), arg.w, out, false, workspace);
      case ConvolutionDirection::weight_gradient:
        return convolution->run(arg.x_as<float>(), arg.dy_as<float>(), out, !arg.sets, workspace);
      case ConvolutionDirection::input_gradient:
        return convolution->run(arg.dy_as<float>(), arg.w, out, false, workspace);
    }
  };
  return plan;
}

}  // namespace

bool vendor_winograd_pays(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection) {
  return !spec.tf32 && std::min(s.oh, s.ow) >= 7 && std::min(s.group_ic(), s.group_oc()) >= 48;
}

bool vendor_pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection) {
  return spec.tf32 || !shape.is_pointwise();
}

ConvolutionCandidate::Planner vendor_convolution(ConvolutionLibrary::Method method, int quicker) {
  return [method, quicker](CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) {
    return plan_vendor(group, shape, direction, method, quicker);
  };
}

}  // namespace cortado
