#pragma once
#include <string>

#include "core/base/bf16.h"
#include "core/base/layout.h"
#include "layers/convolution/sizes.h"

namespace cortado {

/// A two-dimensional convolution in oneDNN's words. Arrays are dense; src and dst may lie in blocks:
///   src mb x ic x ih x iw, weights oc x (ic/g) x kh x kw, dst mb x oc x oh x ow
///   dst(n, o, y, x) = sum of src(n, i, y sh - ph + a dh, x sw - pw + b dw) weights(o, i, a, b)
/// Dilation 1 means dense.
struct ConvolutionShape {
  i64 mb = 1, ic = 1, ih = 1, iw = 1, oc = 1, oh = 1, ow = 1, g = 1;
  i64 kh = 1, kw = 1, sh = 1, sw = 1, ph = 0, pw = 0, dh = 1, dw = 1;

  i64 group_ic() const { return ic / g; }
  i64 group_oc() const { return oc / g; }
  i64 src_image() const { return ic * ih * iw; }
  i64 dst_image() const { return oc * oh * ow; }
  i64 terms() const { return group_ic() * kh * kw; }  ///< products summed for one output
  i64 pixels() const { return oh * ow; }              ///< of one output channel
  /// True if src itself is the matrix that im2col would make.
  bool is_pointwise() const { return kh == 1 && kw == 1 && sh == 1 && sw == 1 && ph == 0 && pw == 0; }
  double flops() const { return 2.0 * static_cast<double>(mb * dst_image()) * static_cast<double>(terms()); }

  /// The precision of x, y and their gradients; weights, their gradients and sums are float.
  Precision precision = Precision::fp32;
  Layout src = Layout::nchw, dst = Layout::nchw;
  /// True if a block of channels holds more than one group's.
  bool shares_blocks() const {
    return (src == Layout::nchw16c && group_ic() % block_channels != 0) ||
           (dst == Layout::nchw16c && group_oc() % block_channels != 0);
  }
  bool in_planes() const { return src == Layout::nchw && dst == Layout::nchw; }

  /// One line for tests, benchmarks, logs and tuning files: "mb64ic20ih12iw12oc50oh8ow8kh5kw5sh1sw1ph0pw0dh1dw1g1".
  /// "bf16" follows where that is the precision, then "src16", "dst16" where those lie in blocks.
  std::string text() const;

  /// The sizes for programs that work on `images` of its images.
  ConvolutionSizes sizes(i64 images) const {
    return {images, ic, ih, iw, oc, oh, ow, g, kh, kw, sh, sw, ph, pw, dh, dw, src, dst};
  }
};

}  // namespace cortado
