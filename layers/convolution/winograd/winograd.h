#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// A row's decisions about Winograd's plans.
struct WinogradVariant {
  /// The form of WinogradConvolve's tile, in Winograd's tiles.
  enum class Form {
    likely,
    wide,  ///< few tiles, many outputs: inputs' points stay in a cache while those of weights stream past them
    tall   ///< many tiles, few outputs: points of weights, which outgrow caches, are used more often when they come
  };
  bool halves = false;        ///< F(2x2, 3x3)
  bool small = false;         ///< F(4x4, 3x3), even where F(6x6, 3x3) takes fewer products
  i64 cached = i64{4} << 20;  ///< floats of matrices that a weight gradient works on at a time
  Form form = Form::likely;   ///< of the other directions
};

/// Plans Winograd's F: for kernels of 3 x 3 F(6x6) or F(4x4), or F(2x2), and at strides on the inputs' phases
/// (phases.h). Forward is one program that makes points of inputs, their products and then outputs. The input gradient
/// is the forward convolution with turned weights. The weight gradient is the exact transpose of the forward algorithm.
ConvolutionCandidate::Planner winograd_convolution(const WinogradVariant& variant);
/// True where Winograd pays. Transforms take time in proportion to the channels, products to their square; tiles over
/// edges are computed in full. A kernel of 5 x 5, or one in phases, saves so many products that few channels suffice.
/// Cores of a weight gradient take no less than sixteen inputs by sixteen outputs.
bool winograd_pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction);

}  // namespace cortado
