#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// swCaffe's implicit plan, to measure against its tables. Arrays are brought into its layouts and back, which the
/// published network does where layouts meet.
ConvolutionPlan plan_published_implicit(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction);

}  // namespace cortado
