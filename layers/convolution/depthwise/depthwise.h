#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// One channel per group (README.md beside this file): any kernel, stride, padding and dilation, both layouts and
/// precisions. Refuses other groups.
ConvolutionPlan plan_depthwise(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction);

/// True if there is more than one group.
inline bool depthwise_pays(const MachineSpec&, const ConvolutionShape& shape, ConvolutionDirection) {
  return shape.g > 1;
}

}  // namespace cortado
