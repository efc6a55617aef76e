#pragma once
#include "core/machine/convolution_library.h"
#include "layers/convolution/candidates.h"

namespace cortado {

/// The machine's convolution library, where it has one: the quickest algorithm of a method as it reckons, or the next
/// after `quicker` others.
ConvolutionCandidate::Planner vendor_convolution(ConvolutionLibrary::Method method, int quicker = 0);

/// True where the library pays. In FP32 a product of matrices, image by image, is faster for 1 x 1 kernels.
bool vendor_pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction);
/// True where Winograd's algorithm pays: in FP32, with many channels, on planes that its tiles fill.
bool vendor_winograd_pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction);

}  // namespace cortado
