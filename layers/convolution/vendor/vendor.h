#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// The machine's convolution library, where it has one.
ConvolutionPlan plan_vendor(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction);

}  // namespace cortado
