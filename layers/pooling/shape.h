#pragma once
#include "core/base/layout.h"
#include "core/machine/math.h"

namespace cortado {

/// The windows of a pooling layer. Output (oy, ox) of a plane sees input rows [oy sh - ph, oy sh - ph + kh) and columns
/// [ox sw - pw, ox sw - pw + kw), inside the h x w plane. A plane is one channel of one image.
struct PoolShape {
  i64 planes = 0;
  int h = 0, w = 0, oh = 0, ow = 0;
  int kh = 1, kw = 1, sh = 1, sw = 1, ph = 0, pw = 0;
  Layout layout = Layout::nchw;  ///< of inputs, outputs and the mask; only programs whose lanes are planes take nchw16c

  /// The number of input positions over which the window at (oy, ox) averages; padding counts, positions beyond it do
  /// not.
  CORTADO_FN int window_size(int oy, int ox) const {
    return (math::min(oy * sh + kh, h + 2 * ph) - oy * sh) * (math::min(ox * sw + kw, w + 2 * pw) - ox * sw);
  }
};

}  // namespace cortado
