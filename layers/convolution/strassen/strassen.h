#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// Plans one level of Strassen's algorithm for kernels of one pixel on blobs in blocks. Halves of the inputs, of the
/// outputs and of neighbouring pixels make quadrants. Forward and the input gradient make sums of activations'
/// quadrants in the cache, and those of weights once, when they are packed. Products of the weight gradient join when
/// all pixels are summed.
ConvolutionPlan plan_strassen(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction);
/// True where Strassen pays. Sums of quadrants take time in proportion to the channels, products to their square.
/// Halves of pixels must be full. In a weight gradient pixels are terms: fewer suffice where there are more channels.
bool strassen_pays(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction);

}  // namespace cortado
