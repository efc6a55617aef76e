#pragma once
#include "core/base/fixed.h"
#include "core/machine/integers.h"
#include "core/machine/program.h"
#include "layers/convolution/winograd/transforms.h"

namespace cortado {

/// The places of tiles in matrices of points, for some rows of tiles counted over images. Tiles that need the same
/// products are neighbours: tiles of last rows, all others, tiles of last columns, as far as these have fewer outputs.
template <class F>
struct WinogradOrder {
  i64 first, count;          ///< rows of tiles
  i64 rows, cols;            ///< of an image
  i64 last_rows, last_cols;  ///< outputs of a tile in the last row and in the last column of an image

  CORTADO_FN i64 tiles() const { return count * cols; }

  struct Row {
    i64 outputs;      ///< of its tiles, from top to bottom
    i64 cols, first;  ///< its tiles but for a last one of fewer outputs; their place
    i64 last;         ///< place of that one
    CORTADO_FN i64 place(i64 col) const { return col < cols ? first + col : last; }
  };
  CORTADO_FN Row row(i64 i) const {
    const i64 before = short_rows(i), shorts = short_rows(count),
              outputs = (first + i) % rows == rows - 1 ? last_rows : F::outputs;
    const bool is_short = outputs < F::outputs;
    return {outputs, whole_cols(), (is_short ? before : shorts + i - before) * whole_cols(),
            count * whole_cols() + (is_short ? count - shorts + before : i - before)};
  }
  /// Outputs of the tiles of a column, from left to right.
  CORTADO_FN i64 outputs_of_col(i64 col) const { return col == cols - 1 ? last_cols : F::outputs; }
  /// The tiles that need a product.
  CORTADO_FN Range needing(i64 product) const {
    const bool by_last_row = product / F::points < last_rows + F::kernel - 1,
               by_last_col = product % F::points < last_cols + F::kernel - 1;
    const i64 whole = whole_cols(), left_out = by_last_row ? 0 : short_rows(count);
    return {left_out * whole, count * whole + (by_last_col ? (count - left_out) * (cols - whole) : 0)};
  }

 private:
  /// Rows of fewer outputs, of the first `n`.
  CORTADO_FN i64 short_rows(i64 n) const { return last_rows < F::outputs ? (first + n) / rows - first / rows : 0; }
  CORTADO_FN i64 whole_cols() const { return last_cols < F::outputs ? cols - 1 : cols; }
};

/// Calls work(n) with the outputs of a tile one way, F::outputs or some times F::fewer less, which the compiler knows.
template <class F, i64 n = F::outputs, class Work>
CORTADO_FN void with_outputs(i64 outputs, const Work& work) {
  if constexpr (n - F::fewer >= F::least)
    if (outputs < n) return with_outputs<F, n - F::fewer>(outputs, work);
  work(Fixed<n>{});
}
/// Calls work(rows, cols) likewise for both ways, one of which has fewer.
template <class F, class Work>
CORTADO_FN CORTADO_APART void with_fewer_outputs(i64 rows, i64 cols, const Work& work) {
  with_outputs<F>(rows, [&](auto of_rows) {
    constexpr bool fewer_rows = decltype(of_rows)::value < F::outputs;
    with_outputs<F>(cols, [&](auto of_cols) {
      if constexpr (fewer_rows || decltype(of_cols)::value < F::outputs) work(of_rows, of_cols);
    });
  });
}
template <class F, class Work>
CORTADO_FN void with_outputs(i64 rows, i64 cols, const Work& work) {
  constexpr Fixed<F::outputs> all;
  if constexpr (F::least < F::outputs)
    if (rows < all || cols < all) return with_fewer_outputs<F>(rows, cols, work);
  work(all, all);
}

/// The tiles of a launch: rows [first, first + rows) of tiles of `images` images, of `channels` of an image's
/// `image_channels` channels. A matrix of points in memory is [group of channels][tile][lane]; there are F::products of
/// them.
struct WinogradTiles {
  i64 images, channels, image_channels, first, rows, cols;
  i64 last_rows, last_cols;  ///< outputs of a tile in the last of these rows and in the last column
  CORTADO_FN i64 count() const { return images * rows * cols; }
  CORTADO_FN i64 width() const { return winograd::padded(channels); }
  CORTADO_FN i64 matrix() const { return winograd::distance(count(), channels); }
  CORTADO_FN i64 groups() const { return width() / winograd::lanes; }

  /// A line of the transforms: a row of tiles of a group of channels.
  CORTADO_FN i64 lines() const { return images * rows * groups(); }
  struct Line {
    i64 image, row, channel;
  };
  CORTADO_FN Line line(i64 i) const {
    return {i / groups() / rows, i / groups() % rows, i % groups() * winograd::lanes};
  }
  /// The order of `n` rows of tiles from row i on, counted over images.
  template <class F>
  CORTADO_FN WinogradOrder<F> order(i64 i, i64 n) const {
    return {i, n, rows, cols, last_rows, last_cols};
  }
  template <class F>
  CORTADO_FN WinogradOrder<F> order() const {
    return order<F>(0, images * rows);
  }
};

}  // namespace cortado
