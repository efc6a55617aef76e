#include "layers/convolution/vendor/vendor.h"

#include "core/machine/convolution_library.h"
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

}  // namespace

ConvolutionPlan plan_vendor(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction) {
  ConvolutionPlan plan;
  ConvolutionLibrary* const library = group.convolutions();
  plan.refused = library == nullptr ? group.why_no_convolutions() : refuse_storage(s);
  if (!plan.refused.empty()) return plan;
  const std::shared_ptr<ConvolutionLibrary::Convolution> convolution =
      library->prepare({s.mb, s.ic, s.ih, s.iw, s.oc, s.oh, s.ow, s.g, s.kh, s.kw, s.sh, s.sw, s.ph, s.pw, s.dh, s.dw},
                       product_of(direction), plan.refused);
  if (convolution == nullptr) return plan;
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

}  // namespace cortado
