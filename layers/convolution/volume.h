#pragma once
#include "layers/convolution/window.h"
#include "layers/rows/rows.h"

namespace cortado {

/// A convolution over more than two spatial axes, turned into one over two. Every output position along the leading
/// axes becomes an image, and the input planes under its kernel become the image's channels. The weights' memory (oc x
/// ic x leading kernel x kh x kw) is then that of oc x (ic leading kernel) x kh x kw weights. It queues copies of
/// planes.
class Volume {
 public:
  explicit Volume(CoreGroup& group) : group_(group), stacked_(group), ordered_(group), unordered_(group) {}

  /// `in` and `out` are the extents of all spatial axes of a convolution's input and output; the last two are planes.
  void reshape(i64 samples, i64 in_channels, i64 out_channels, const std::vector<i64>& in, const std::vector<i64>& out,
               const SlidingWindow& window);

  i64 images() const { return images_; }              ///< samples times positions along the leading axes
  i64 channels_per_channel() const { return taps_; }  ///< positions of the kernel along the leading axes

  /// x (samples x channels x volume) to images x (channels taps) x plane, zero where the kernel sees padding.
  void stack(const float* x, float* images) { stacked_.gather(x, nullptr, in_plane_, images); }
  /// Makes the gradient: dx (`count` values) = the sums of the gradients of each plane's copies.
  void unstack(const float* images, float* dx, i64 count);
  /// Turns an output of images x channels x plane into samples x channels x volume, and back.
  void order(const float* images, float* y) { ordered_.gather(images, nullptr, out_plane_, y); }
  void unorder(const float* y, float* images) { unordered_.gather(y, nullptr, out_plane_, images); }

 private:
  CoreGroup& group_;
  RowPicker stacked_, ordered_, unordered_;
  i64 images_ = 0, taps_ = 1, in_plane_ = 0, out_plane_ = 0;
};

}  // namespace cortado
