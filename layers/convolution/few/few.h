#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// Groups of up to eight channels in planes (README.md beside this file), on machines that work out of scratchpads: any
/// kernel, stride and dilation, padding up to the kernel's reach. Refuses other groups, and machines with caches.
ConvolutionPlan plan_few_channels(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction);

/// True on meshes. Elsewhere `depthwise` and `implicit` keep lanes as busy.
inline bool few_channels_pay(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection) {
  return spec.mesh_cols > 1 && shape.g > 1;
}

}  // namespace cortado
