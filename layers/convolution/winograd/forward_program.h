#pragma once
#include "layers/channels/channel_map.h"
#include "layers/channels/sums.h"
#include "layers/convolution/set_or_add.h"
#include "layers/convolution/winograd/points.h"

namespace cortado {

/// Inputs to y (images x channels x height x width), At ((Bt x B) u) A. A tile is some rows of Winograd's tiles by a
/// share of the panels of outputs: the points of its inputs and, panel by panel, the sums of all products are its own.
/// Weights' points come from memory or are the tile's own, too, some terms at a time.
template <class F, class T>
struct WinogradConvolve {
  static constexpr const char* label = "winograd";
  WinogradPixels<F, false, T> in;
  const float* u;              ///< WinogradPanels; null: made of the filters
  WinogradFilters<F> filters;  ///< where u is null
  i64 own_terms;               ///< of the filters, that are made at a time
  T* y;
  i64 height, width;
  Layout layout;
  WinogradTiles out;
  WinogradPanels panels;
  i64 rows;    ///< of Winograd's tiles, in a tile
  i64 shares;  ///< of panels; every one makes the points of its inputs anew
  /// Sums of a y in blocks: for each row of Winograd's tiles of an image the sums over each channel's values and over
  /// their squares, [image][row of tiles][2][image channels]; nullptr means none.
  float* sums;
  ChannelMap map;
  Buf v_buf, u_buf, acc_buf, y_buf, sums_buf;

  CORTADO_FN i64 all_rows() const { return out.images * out.rows; }
  CORTADO_FN i64 blocks() const { return ceil_div(all_rows(), rows); }
  CORTADO_FN i64 tiles() const { return blocks() * shares; }
  CORTADO_FN i64 most_points() const { return F::products * winograd::distance(rows * out.cols, panels.terms); }
  CORTADO_FN i64 most_sums() const { return F::products * rows * out.cols * panels.panel; }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const WinogradConvolve p = *this;
    c.tiles(p.tiles(), [&](i64 tile) {
      const i64 first = tile / p.shares * p.rows, share = tile % p.shares, count = p.panels.count();
      const Rows rows{p.out.template order<F>(first, math::min(p.rows, p.all_rows() - first)), p.panels.terms};
      const auto v = p.points(c, rows);
      for (i64 panel = count * share / p.shares; panel < count * (share + 1) / p.shares; ++panel)
        p.multiply(c, rows, v, panel);
    });
  }

 private:
  /// A tile's rows of Winograd's tiles and the matrices of their points.
  struct Rows {
    WinogradOrder<F> order;
    i64 terms;
    CORTADO_FN i64 tiles() const { return order.tiles(); }
    CORTADO_FN i64 matrix() const { return winograd::distance(tiles(), terms); }
  };

  /// Lanes of points as the rows of a block, [product][tile][group of channels].
  template <class C>
  CORTADO_FN auto points(C& c, const Rows& rows) const {
    const WinogradConvolve p = *this;
    const i64 groups = p.in.tiles.groups(), matrix = rows.matrix() / winograd::lanes;
    auto v = c.template block<float>(p.v_buf, F::products * matrix, winograd::lanes);
    c.pipeline(
        rows.order.count * groups, Depth::one,
        [&](i64 i) { return p.in.stage(c, p.in.tiles.line(rows.order.first * groups + i)); },
        [&](i64 i, auto& x) {
          const auto row = rows.order.row(i / groups);
          for (i64 col = 0; col < rows.order.cols; ++col) {
            const i64 place = row.place(col) * groups + i % groups;
            p.in.to_points(c, x, row.outputs, rows.order.outputs_of_col(col), col,
                           [&](i64 product, i64 lane, auto point) { v.set(product * matrix + place, lane, point); });
          }
        });
    return v;
  }

  template <class C, class V>
  CORTADO_FN void multiply(C& c, const Rows& rows, const V& v, i64 panel) const {
    const WinogradConvolve p = *this;
    TileShape shape;
    shape.m = F::products * rows.tiles();
    shape.n0 = p.panels.panel;
    shape.k = p.panels.terms;
    auto acc = c.template sums<float>(p.acc_buf, shape);
    if (p.u != nullptr)
      p.multiply_by_memory(c, rows, v, panel, acc);
    else
      for (i64 term = 0; term < p.panels.terms; term += p.own_terms) p.multiply_by_own(c, rows, v, panel, term, acc);
    const i64 output = panel * p.panels.panel, lanes = math::min(p.panels.panel, p.out.channels - output);
    for (i64 i = 0; i < rows.order.count; ++i) {
      const auto row = rows.order.row(i);
      for (i64 lane = 0; lane < lanes; lane += winograd::lanes) {
        const auto at = p.out.line((rows.order.first + i) * p.out.groups() + (output + lane) / winograd::lanes);
        if (p.layout == Layout::nchw16c)
          p.to_pixels<true>(c, at, acc, rows.order, row, lane);
        else
          p.to_pixels<false>(c, at, acc, rows.order, row, lane);
      }
    }
  }

  template <class C, class V, class Sums>
  CORTADO_FN void multiply_by_memory(C& c, const Rows& rows, const V& v, i64 panel, Sums& acc) const {
    const WinogradConvolve p = *this;
    auto points = c.left(v, LeftView{p.in.tiles.width(), 1});
    c.pipeline(
        F::products, Depth::one, [&](i64 product) { return p.weights(c, panel, product); },
        [&](i64 product, auto& weights) {
          const Range tiles = rows.order.needing(product);
          if (tiles.count() == 0) return;
          auto sums = c.rows(acc, product * rows.tiles() + tiles.first, tiles.count());
          Taps taps;
          taps.a = product * rows.matrix() + tiles.first * p.in.tiles.width();
          c.product(sums, c.row_share(points, 0), c.col_share(weights, 0), taps);
        });
  }

  /// Makes the points of the weights of some terms, [product][term][output], and multiplies by them.
  template <class C, class V, class Sums>
  CORTADO_FN void multiply_by_own(C& c, const Rows& rows, const V& v, i64 panel, i64 first, Sums& acc) const {
    const WinogradConvolve p = *this;
    const i64 terms = math::min(p.own_terms, p.panels.terms - first), step = p.filters.line_terms,
              groups = p.panels.panel / winograd::lanes,
              matrix = winograd::distance(terms, p.panels.panel) / winograd::lanes;
    auto u = c.template block<float>(p.u_buf, F::products * matrix, winograd::lanes);
    c.pipeline(
        ceil_div(terms, step) * groups, Depth::one,
        [&](i64 i) {
          return p.filters.stage(c, first + i / groups * step, panel * p.panels.panel + i % groups * winograd::lanes);
        },
        [&](i64 i, auto& w) {
          const i64 from = i / groups * step;
          for (i64 k = from; k < math::min(from + step, terms); ++k)
            p.filters.to_points(c, w, k - from, [&](i64 product, i64 lane, auto point) {
              u.set(product * matrix + k * groups + i % groups, lane, point);
            });
        });
    auto operands = both(c.left(v, LeftView{p.in.tiles.width(), 1}), c.right(u, RightView{p.panels.panel}));
    for (i64 product = 0; product < F::products; ++product) {
      const Range tiles = rows.order.needing(product);
      if (tiles.count() == 0) continue;
      auto sums = c.rows(acc, product * rows.tiles() + tiles.first, tiles.count(), terms);
      Taps taps;
      taps.a = product * rows.matrix() + tiles.first * p.in.tiles.width() + first;
      taps.b = product * matrix * winograd::lanes;
      set_or_add(c, first, sums, operands, taps);
    }
  }

  template <class C>
  CORTADO_FN auto weights(C& c, i64 panel, i64 product) const {
    RightView view;
    view.k_stride = panels.panel;
    return c.stage_b(u_buf,
                     Box<float>::matrix(u + (panel * F::products + product) * panels.matrix(), panels.terms,
                                        panels.panel, panels.panel, 0, 0, panels.terms, panels.panel),
                     view);
  }

  /// A row of Winograd's tiles of sixteen channels, whose sums begin at `column`.
  template <bool blocks, class C, class Sums>
  CORTADO_FN void to_pixels(C& c, const WinogradTiles::Line& at, const Sums& acc, const WinogradOrder<F>& order,
                            const typename WinogradOrder<F>::Row& row, i64 column) const {
    const WinogradConvolve p = *this;
    const i64 top = (p.out.first + at.row) * F::outputs, plane = p.height * p.width,
              rows = math::min(F::outputs, p.height - top);
    auto y = out_lanes<blocks>(
        c, p.y_buf,
        p.y + (at.image * p.out.image_channels + at.channel) * plane + top * p.width * channel_block(p.layout),
        rows * p.width, plane, math::min(winograd::lanes, p.out.channels - at.channel));
    p.transform_row(c, acc, order, row, column, rows, y);
    if (p.map.is_there()) p.map.apply(c, y, rows * p.width, at.channel);
    if constexpr (blocks)
      if (p.sums != nullptr) p.leave_sums(c, at, rows * p.width, y);
    c.put(y);
  }

  /// Sums to the `rows` rows of pixels that y has.
  template <class C, class Sums, class Y>
  CORTADO_FN void transform_row(C& c, const Sums& acc, const WinogradOrder<F>& order,
                                const typename WinogradOrder<F>::Row& row, i64 column, i64 rows, Y& y) const {
    const i64 width = this->width;
    for (i64 col = 0; col < out.cols; ++col) {
      const i64 pixel = col * F::outputs, cols = math::min(F::outputs, width - pixel), place = row.place(col);
      const auto sum = [&](i64 product, i64 lane) { return acc(product * order.tiles() + place, column + lane); };
      with_outputs<F>(row.outputs, order.outputs_of_col(col), [&](auto of_rows, auto of_cols) {
        constexpr int m = decltype(of_rows)::value, n = decltype(of_cols)::value;
        if (F::fewer == 1 || (rows == m && cols == n)) {
          c.each(winograd::lanes, [&](i64 lane) {
            transform<m, n>(sum, lane, [&](int r, int j, auto value) { y.set(r * width + pixel + j, lane, value); });
          });
        } else {
          write_some<m, n>(c, sum, rows, cols, width, pixel, y);
        }
      });
    }
  }

  /// A tile whose last row or column is beyond the pixels.
  template <int m, int n, class C, class M, class Y>
  CORTADO_FN static void write_some(C& c, const M& sum, i64 rows, i64 cols, i64 width, i64 pixel, Y& y) {
    std::decay_t<decltype(sum(0, 0))> kept[m * n * winograd::lanes];  // each lane's own
    c.each(winograd::lanes, [&](i64 lane) {
      transform<m, n>(sum, lane, [&](int r, int j, auto value) { kept[(r * n + j) * winograd::lanes + lane] = value; });
    });
    for (i64 r = 0; r < rows; ++r)
      for (i64 j = 0; j < cols; ++j)
        c.each(winograd::lanes,
               [&](i64 lane) { y.set(r * width + pixel + j, lane, kept[(r * n + j) * winograd::lanes + lane]); });
  }

  template <class C, class Y>
  CORTADO_FN void leave_sums(C& c, const WinogradTiles::Line& at, i64 pixels, const Y& y) const {
    const i64 part = at.image * ceil_div(height, F::outputs) + out.first + at.row;
    auto left = part_sums(c, sums_buf, sums, out.image_channels, part, at.channel);
    clear_sums(c, left);
    add_distances(
        c, [&](i64 pixel, i64 lane) { return y.at(pixel, lane); }, pixels, ChannelValues<block_channels>{}, left);
    c.put(left);
  }

  /// Calls set(row, column, value) for a tile of rows x cols outputs.
  template <int rows, int cols, class M, class Set>
  CORTADO_FN static void transform(const M& m, i64 lane, const Set& set) {
    constexpr int row_points = rows + F::kernel - 1, col_points = cols + F::kernel - 1;
    auto first = m(0, lane);
    decltype(first) t[F::products];
    CORTADO_UNROLL
    for (int r = 0; r < row_points; ++r) {
      CORTADO_UNROLL
      for (int j = 0; j < col_points; ++j) t[r * F::points + j] = m(r * F::points + j, lane);
    }
    CORTADO_UNROLL
    for (int j = 0; j < col_points; ++j) F::template to_outputs<rows>(t + j, F::points);
    CORTADO_UNROLL
    for (int r = 0; r < rows; ++r) F::template to_outputs<cols>(t + r * F::points, 1);
    CORTADO_UNROLL
    for (int r = 0; r < rows; ++r) {
      CORTADO_UNROLL
      for (int j = 0; j < cols; ++j) set(r, j, t[r * F::points + j]);
    }
  }
};

}  // namespace cortado
