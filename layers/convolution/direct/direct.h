#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// What a row of the table decides about direct plans.
struct DirectVariant {
  /// What is shared out over the cores.
  enum class Split {
    likely,    ///< pixels; of a weight gradient images or output channels, whichever adds less
    channels,  ///< output channels first
    images     ///< of a weight gradient; forward does so anyway
  };
  i64 pixels = 224;  ///< of a block: weights are used often while in a cache
  Split split = Split::likely;
};

/// Implicit GEMM with vectors along output channels (DirectForward, DirectWeightGradient): for machines whose caches
/// make single elements as cheap to read as lines. The input gradient runs as forward convolutions (gradient_parts.h).
ConvolutionCandidate::Planner direct_convolution(const DirectVariant& variant);
/// Not where most lanes stay empty, nor where storing a sum costs as much as its few terms: the library's vectors lie
/// along pixels. Input gradients compute what kernels that overhang the edges see, too. The library knows planes only.
bool direct_pays(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction);

}  // namespace cortado
