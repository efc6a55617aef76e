#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// A kernel of one pixel at strides as one at stride 1, on the pixels that it reads (README.md beside this file).
ConvolutionPlan plan_sampled(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction);
bool sampled_pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction);

}  // namespace cortado
