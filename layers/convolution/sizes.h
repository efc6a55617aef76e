#pragma once
#include "core/base/layout.h"

namespace cortado {

/// A convolution's sizes for programs; see ConvolutionShape. `images` counts those of one launch.
struct ConvolutionSizes {
  i64 images, ic, ih, iw, oc, oh, ow, g;
  i64 kh, kw, sh, sw, ph, pw, dh, dw;
  Layout src, dst;

  CORTADO_FN i64 group_ic() const { return ic / g; }
  CORTADO_FN i64 group_oc() const { return oc / g; }
  /// Input rows (columns) that `n` neighbouring outputs see.
  CORTADO_FN i64 rows_under(i64 n) const { return (n - 1) * sh + (kh - 1) * dh + 1; }
  CORTADO_FN i64 cols_under(i64 n) const { return (n - 1) * sw + (kw - 1) * dw + 1; }
};

/// Kernel positions along one axis that meet the same inputs: `count` of them, `step` apart, from `last` downwards.
/// A forward convolution has them all in their own order: last 0, step -1.
struct KernelPart {
  i64 last, step, count;
  CORTADO_FN i64 position(i64 i) const { return last - i * step; }
};

}  // namespace cortado
