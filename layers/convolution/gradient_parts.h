#pragma once
#include <vector>

#include "layers/convolution/shape.h"

namespace cortado {

/// The inputs first, first + stride, ... along one axis: their kernel positions, and the convolution of the output
/// gradient that makes them.
struct AxisPart {
  KernelPart kernel;
  i64 outputs, pad, dilation;
};

/// One of the convolutions that make an input gradient.
struct GradientPart {
  AxisPart y, x;
  i64 first;  ///< its first input's place in a channel
  bool empty() const { return y.kernel.count == 0 || x.kernel.count == 0; }

  /// The shape from output gradients to every stride-th input; its channels and layouts are exchanged.
  ConvolutionShape shape(const ConvolutionShape& s) const;
};

/// An input gradient as forward convolutions of the output gradient with turned weights. There is one at stride 1. At
/// stride s there is one for every s-th row and column of inputs, which meet the same part of the kernel.
std::vector<GradientPart> gradient_parts(const ConvolutionShape& s);
/// True if no kernel position meets some inputs, at strides beyond the kernel: their gradients are zero.
bool leave_gaps(const std::vector<GradientPart>& parts);

}  // namespace cortado
