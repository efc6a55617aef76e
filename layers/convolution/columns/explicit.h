#pragma once
#include "layers/convolution/candidates.h"
#include "layers/gemm/gemm.h"

namespace cortado {

/// swCaffe's explicit plan (section IV-B1): im2col, then a matrix product for each image and group; images in parallel.
/// With Multiplier::published, as published, image by image, im2col and col2im row by row, nothing double-buffered but
/// the product.
ConvolutionCandidate::Planner explicit_convolution(Multiplier multiplier);

}  // namespace cortado
