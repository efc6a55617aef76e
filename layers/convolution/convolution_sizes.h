#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// A convolution as programs need it; see ConvolutionShape. `images` counts those of one launch.
struct ConvolutionSizes {
  i64 images, ic, ih, iw, oc, oh, ow, g;
  i64 kh, kw, sh, sw, ph, pw, dh, dw;

  CORTADO_FN i64 group_ic() const { return ic / g; }
  CORTADO_FN i64 group_oc() const { return oc / g; }
  /// Input rows (columns) that `n` neighbouring outputs see.
  CORTADO_FN i64 rows_under(i64 n) const { return (n - 1) * sh + (kh - 1) * dh + 1; }
  CORTADO_FN i64 cols_under(i64 n) const { return (n - 1) * sw + (kw - 1) * dw + 1; }
};

/// Outputs o in [0, outputs) with 0 <= o stride + first < inputs.
CORTADO_FN inline Range outputs_inside(i64 first, i64 stride, i64 inputs, i64 outputs) {
  const i64 before = math::max(i64{0}, -first), room = math::max(i64{0}, inputs - first);
  return {math::min(outputs, (before + stride - 1) / stride), math::min(outputs, (room + stride - 1) / stride)};
}

}  // namespace cortado
