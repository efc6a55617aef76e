#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// One level of Strassen's algorithm for kernels of one pixel on blobs in blocks: halves of the inputs, of the outputs
/// and of neighbouring pixels make quadrants. Forward and the input gradient make sums of quadrants of activations in
/// the cache, those of weights once, when they are packed; products of the weight gradient join when all pixels are
/// summed.
ConvolutionPlan plan_strassen(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction);
/// Sums of quadrants take time with the channels, products with their square; halves of pixels are to be full. Of a
/// weight gradient pixels are terms: fewer will do where there are more channels.
bool strassen_pays(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction);

}  // namespace cortado
