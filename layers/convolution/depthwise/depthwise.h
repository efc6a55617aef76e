#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// One channel per group, or in blocks two, four or eight (README.md beside this file): any kernel, stride, padding and
/// dilation, both precisions; one channel in both layouts. Refuses other groups.
ConvolutionPlan plan_depthwise(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction);

/// True for one channel per group, and for few at strides of 1. Beyond that copies of all inputs of which few are used
/// take longer than products with zeros.
inline bool depthwise_pays(const MachineSpec&, const ConvolutionShape& shape, ConvolutionDirection) {
  return shape.g > 1 && (shape.group_ic() == 1 || (shape.sh == 1 && shape.sw == 1));
}

}  // namespace cortado
