#pragma once
#include "layers/convolution/programs.h"
#include "layers/convolution/shape.h"

namespace cortado {

/// The shape as programs carry it, for `images` of its images.
inline ConvolutionSizes sizes_of(const ConvolutionShape& s, i64 images) {
  return {images, s.ic, s.ih, s.iw, s.oc, s.oh, s.ow, s.g, s.kh, s.kw, s.sh, s.sw, s.ph, s.pw, s.dh, s.dw};
}

}  // namespace cortado
