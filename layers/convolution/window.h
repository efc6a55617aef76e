#pragma once
#include <vector>

#include "core/net/layer.h"

namespace caffe {
class ConvolutionParameter;
}

namespace cortado {

/// What convolution_param says of each spatial axis, outermost first.
struct SlidingWindow {
  std::vector<i64> kernel, stride, pad, dilation;

  std::size_t axes() const { return kernel.size(); }
  /// How much of axis d of the input one output sees.
  i64 extent(std::size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  /// Outputs along axis d of so many inputs; below 1 where the kernel does not fit.
  i64 outputs(std::size_t d, i64 inputs) const {
    const i64 room = inputs + 2 * pad[d] - extent(d);
    return room < 0 ? 0 : room / stride[d] + 1;
  }
  /// Inputs along axis d that just make so many outputs.
  i64 inputs(std::size_t d, i64 outputs) const { return stride[d] * (outputs - 1) + extent(d) - 2 * pad[d]; }
};

/// Reads it for `axes` spatial axes: every field once for all or once per axis, or for two axes as _h and _w. Throws
/// ConfigError that names the layer.
SlidingWindow read_window(const Layer& layer, const caffe::ConvolutionParameter& parameter, int axes);

}  // namespace cortado
