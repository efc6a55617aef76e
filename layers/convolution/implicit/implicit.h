#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// swCaffe's implicit plan (section IV-B2), blocking on width, rows and both kinds of channels. The input gradient runs
/// as forward convolutions of the output gradient with turned weights (gradient_parts.h).
ConvolutionPlan plan_implicit(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction);

}  // namespace cortado
