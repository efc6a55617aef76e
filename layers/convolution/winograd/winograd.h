#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// What a row of the table decides about Winograd's plans.
struct WinogradVariant {
  /// Winograd's tiles of a tile of WinogradConvolve.
  enum class Form {
    likely,
    wide,  ///< few, by many outputs: inputs' points stay in a cache while those of weights stream past them
    tall   ///< many, by few: points of weights, which outgrow caches, are used more often when they come
  };
  bool halves = false;        ///< F(2x2, 3x3)
  bool small = false;         ///< F(4x4, 3x3), and not F(6x6, 3x3) where that takes fewer products
  i64 cached = i64{4} << 20;  ///< floats of matrices that a weight gradient works on at a time
  Form form = Form::likely;   ///< of the other directions
};

/// Winograd's F, for kernels of 3 x 3 F(6x6) or F(4x4), or F(2x2), and at strides of the inputs' phases (phases.h).
/// Forward one program makes points of inputs, their products and, from those, outputs; the input gradient is the
/// forward convolution with turned weights. The weight gradient is the exact transpose of the forward algorithm.
ConvolutionCandidate::Planner winograd_convolution(const WinogradVariant& variant);
/// The transforms take time with the channels, the products with their square; tiles that hang over edges are computed
/// in full. A kernel of 5 x 5, or one in phases, saves so many products that few channels make up for them. Cores of a
/// weight gradient take no less than sixteen inputs by sixteen outputs.
bool winograd_pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction);

}  // namespace cortado
