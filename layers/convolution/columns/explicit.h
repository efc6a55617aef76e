#pragma once
#include "layers/convolution/candidates.h"
#include "layers/gemm/gemm.h"

namespace cortado {

/// swCaffe's explicit plan (section IV-B1): im2col, then a matrix product for each image and group, images in parallel.
/// Multiplier::published works as published: image by image, im2col and col2im row by row. Only its product is
/// double-buffered.
ConvolutionCandidate::Planner explicit_convolution(Multiplier multiplier);

}  // namespace cortado
