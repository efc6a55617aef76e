#pragma once
#include <vector>

#include "core/net/layer.h"
#include "layers/convolution/shape.h"

namespace caffe {
class ConvolutionParameter;
}

namespace cortado {

/// The window of convolution_param on each spatial axis, outermost first.
struct SlidingWindow {
  std::vector<i64> kernel, stride, pad, dilation;

  std::size_t axes() const { return kernel.size(); }
  /// The inputs along axis d that one output sees.
  i64 extent(std::size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  /// The outputs along axis d of `inputs` inputs; below 1 where the kernel does not fit.
  i64 outputs(std::size_t d, i64 inputs) const {
    const i64 room = inputs + 2 * pad[d] - extent(d);
    return room < 0 ? 0 : room / stride[d] + 1;
  }
  /// The least number of inputs along axis d that make `outputs` outputs.
  i64 inputs(std::size_t d, i64 outputs) const { return stride[d] * (outputs - 1) + extent(d) - 2 * pad[d]; }
};

/// Reads the window on `axes` spatial axes, those behind the channels; there may be none. Every field stands once for
/// all or once per axis, or for two axes as _h and _w. Throws ConfigError that names the layer.
SlidingWindow read_window(const Layer& layer, const caffe::ConvolutionParameter& parameter, int axes);

/// The sizes of an array's last `axes` axes.
std::vector<i64> spatial_sizes(const Blob& blob, std::size_t axes);
/// The sizes that the window makes of the last axes of `bottom`. Throws ShapeError that names the layer where it does
/// not fit.
std::vector<i64> window_outputs(const Layer& layer, const SlidingWindow& window, const Blob& bottom);
/// Fills in the last two axes' sizes and window. A convolution over fewer axes has sizes and kernels of 1 in their
/// place.
void set_planes(ConvolutionShape& shape, const SlidingWindow& window, const std::vector<i64>& in,
                const std::vector<i64>& out);

}  // namespace cortado
