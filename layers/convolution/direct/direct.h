#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// A row's decisions about direct plans.
struct DirectVariant {
  /// The dimension that is shared out over the cores.
  enum class Split {
    likely,  ///< pixels or channels, whose sharing reads less; of a weight gradient images or channels, which adds less
    channels,  ///< output channels first
    images     ///< of a weight gradient; of other directions pixels
  };
  /// Pixels of a block, twice as many for weight gradients in blocks of channels. Weights are used often while they are
  /// in a cache.
  i64 pixels = 224;
  Split split = Split::likely;
};

/// Plans implicit GEMM with vectors along output channels (DirectForward, DirectWeightGradient). It suits machines
/// whose caches make single elements as cheap to read as lines. The input gradient runs as forward convolutions
/// (gradient_parts.h).
ConvolutionCandidate::Planner direct_convolution(const DirectVariant& variant);
/// False where most lanes stay empty, or where storing a sum costs as much as its few terms; the library's vectors lie
/// along pixels. Input gradients also compute what kernels that overhang the edges see. The library takes planes only.
bool direct_pays(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction);

}  // namespace cortado
