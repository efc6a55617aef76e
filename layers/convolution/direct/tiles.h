#pragma once
#include "layers/convolution/sizes.h"

namespace cortado {

/// Tile sizes of the direct plans.
struct DirectTiles {
  i64 images, rows, cols;  ///< pixels of a block: rows x cols of each of `images` images
  i64 panels;              ///< panels of output channels of a block

  bool operator==(const DirectTiles& o) const {
    return images == o.images && rows == o.rows && cols == o.cols && panels == o.panels;
  }
};

/// The staged inputs under rows x cols pixels. A kernel one position wide sees every stride-th input only, and only
/// those are staged, unless `whole_rows` are.
struct Halo {
  i64 step_y, step_x;      ///< from one staged input to the next
  i64 stride_y, stride_x;  ///< from one pixel's inputs to the next one's, in staged inputs
  i64 rows, cols;

  CORTADO_FN Halo(const ConvolutionSizes& s, const DirectTiles& t, bool whole_rows = false)
      : step_y(s.kh == 1 ? s.sh : 1),
        step_x(s.kw == 1 && !whole_rows ? s.sw : 1),
        stride_y(s.sh / step_y),
        stride_x(s.sw / step_x),
        rows(s.kh == 1 ? t.rows : s.rows_under(t.rows)),
        cols(s.kw == 1 && !whole_rows ? t.cols : s.cols_under(t.cols)) {}
  CORTADO_FN i64 plane() const { return rows * cols; }
};

}  // namespace cortado
