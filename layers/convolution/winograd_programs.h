#pragma once
#include "core/base/fixed.h"
#include "core/machine/channel_lanes.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/channels/block_programs.h"
#include "layers/convolution/set_or_add.h"
#include "layers/convolution/winograd_transforms.h"

namespace cortado {

/// Where tiles lie in matrices of points: those of some rows of tiles, counted over images. Tiles that need the same
/// products follow each other: of last rows, all others, of last columns, as far as these have fewer outputs.
template <class F>
struct WinogradOrder {
  i64 first, count;          ///< rows of tiles
  i64 rows, cols;            ///< of an image
  i64 last_rows, last_cols;  ///< outputs of a tile in the last row and in the last column of an image

  CORTADO_FN i64 tiles() const { return count * cols; }

  struct Row {
    i64 outputs;      ///< of its tiles, from top to bottom
    i64 cols, first;  ///< its tiles but for a last one of fewer outputs; where they are
    i64 last;         ///< where that one is
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
/// Calls work(rows, cols) likewise for both ways.
template <class F, class Work>
CORTADO_FN CORTADO_APART void with_fewer_outputs(i64 rows, i64 cols, const Work& work) {
  with_outputs<F>(rows, [&](auto of_rows) { with_outputs<F>(cols, [&](auto of_cols) { work(of_rows, of_cols); }); });
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
  /// Of `n` rows of tiles from row i on, counted over images.
  template <class F>
  CORTADO_FN WinogradOrder<F> order(i64 i, i64 n) const {
    return {i, n, rows, cols, last_rows, last_cols};
  }
  template <class F>
  CORTADO_FN WinogradOrder<F> order() const {
    return order<F>(0, images * rows);
  }
};

/// What is transformed to points, rows of tiles of images x channels x height x width: Bt x B of inputs, tile (i, j)
/// beginning at (outputs i - pad_h, outputs j - pad_w), or A dy At of gradients.
template <class F, bool gradients, class T>
struct WinogradPixels {
  static constexpr i64 side = gradients ? F::outputs : F::points;  ///< of what a tile reads
  const T* x;
  i64 height, width, pad_h, pad_w;
  Layout layout;
  WinogradTiles tiles;
  Buf buf;

  CORTADO_FN i64 columns() const { return (tiles.cols - 1) * F::outputs + side; }
  CORTADO_FN i64 bytes() const { return 4 * side * columns() * winograd::lanes; }

  /// The pixels of a line, their channels next to each other.
  template <class C>
  CORTADO_FN auto stage(C& c, const WinogradTiles::Line& at) const {
    const i64 plane = height * width;
    Box<T> box = channel_lanes(x + at.channel * plane, layout, height, width, tiles.channels - at.channel);
    box.extent[0] = tiles.images, box.pitch[0] = tiles.image_channels * plane;
    const i64 origin[4] = {at.image, (tiles.first + at.row) * F::outputs - pad_h, -pad_w, 0},
              size[4] = {1, side, columns(), winograd::lanes};
    box.place(origin, size);
    return c.stage(buf, box);
  }

  /// Calls set(product, lane, point) for tile `col` of a line, of rows x cols outputs; points that it does not need are
  /// 0.
  template <class C, class X, class Set>
  CORTADO_FN void to_points(C& c, const X& pixels, i64 rows, i64 cols, i64 col, Set set) const {
    const i64 pitch = columns(), left = col * F::outputs;
    with_outputs<F>(rows, cols, [&](auto of_rows, auto of_cols) {
      c.each(winograd::lanes, [&](i64 lane) {
        transform<decltype(of_rows)::value, decltype(of_cols)::value>(pixels, left, pitch, lane, set);
      });
    });
  }

 private:
  template <int rows, int cols, class X, class Set>
  CORTADO_FN static void transform(const X& pixels, i64 left, i64 pitch, i64 lane, const Set& set) {
    constexpr int row_points = rows + F::kernel - 1, col_points = cols + F::kernel - 1;
    auto first = pixels(left, lane);
    decltype(first) t[F::products];
    CORTADO_UNROLL
    for (int r = 0; r < side; ++r) {
      CORTADO_UNROLL
      for (int j = 0; j < side; ++j) t[r * F::points + j] = pixels(r * pitch + left + j, lane);
    }
    CORTADO_UNROLL
    for (int j = 0; j < side; ++j) one_way<rows>(t + j, F::points);
    CORTADO_UNROLL
    for (int r = 0; r < row_points; ++r) one_way<cols>(t + r * F::points, 1);
    CORTADO_UNROLL
    for (int r = 0; r < F::points; ++r) {
      CORTADO_UNROLL
      for (int j = 0; j < F::points; ++j)
        set(r * F::points + j, lane, r < row_points && j < col_points ? t[r * F::points + j] : decltype(first)(0.0f));
    }
  }
  template <int n, class V>
  CORTADO_FN static void one_way(V* v, int step) {
    if constexpr (gradients)
      F::template from_gradients<n>(v, step);
    else
      F::template from_inputs<n>(v, step);
  }
};

/// Pixels to matrices of points in memory.
template <class F, bool gradients, class T>
struct WinogradTransform {
  static constexpr const char* label = gradients ? "winograd_gradients" : "winograd_inputs";
  WinogradPixels<F, gradients, T> pixels;
  float* v;
  Buf v_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const WinogradTransform p = *this;
    const WinogradTiles& tiles = p.pixels.tiles;
    const auto order = tiles.template order<F>();
    c.lines(
        tiles.lines(), Depth::one, [&](i64 i) { return p.pixels.stage(c, tiles.line(i)); },
        [&](i64 i, auto& x) {
          const auto at = tiles.line(i);
          const auto row = order.row(at.image * tiles.rows + at.row);
          for (i64 col = 0; col < tiles.cols; ++col) {
            auto v = c.out_streamed(p.v_buf, p.v + at.channel * tiles.count() + row.place(col) * winograd::lanes,
                                    F::products, winograd::lanes, tiles.matrix());
            p.pixels.to_points(c, x, row.outputs, order.outputs_of_col(col), col,
                               [&](i64 product, i64 lane, auto point) { v.set(product, lane, point); });
            c.put(v);
          }
        });
  }
};

/// Weights as points, by panels of outputs that are multiplied together: [panel][product][term][lane of the panel],
/// zero beyond the last output.
struct WinogradPanels {
  i64 outputs, terms, products;
  i64 panel;  ///< outputs of one, whole vectors of `lanes`

  CORTADO_FN i64 count() const { return ceil_div(outputs, panel); }
  /// From one product's matrix of a panel, terms x panel, to the next one's.
  CORTADO_FN i64 matrix() const { return winograd::distance(terms, panel); }
  CORTADO_FN i64 floats() const { return count() * products * matrix(); }
};

/// Weights (oc x ic x kernel x kernel) that are transformed to points: G w Gt. For the input gradient turned by 180
/// degrees, with inputs for outputs.
template <class F>
struct WinogradFilters {
  static constexpr i64 taps = F::kernel * F::kernel;
  const float* w;
  i64 outputs, terms, output_pitch, term_pitch;
  bool turned;
  i64 line_terms;  ///< that are staged together
  Buf buf;

  CORTADO_FN i64 bytes() const { return 4 * line_terms * taps * winograd::lanes; }

  /// Those of some terms and sixteen outputs, outputs next to each other; zero beyond the last one.
  template <class C>
  CORTADO_FN auto stage(C& c, i64 term, i64 output) const {
    Box<float> box;
    box.base = w;
    const i64 extent[4] = {1, terms, taps, outputs}, pitch[4] = {0, term_pitch, 1, output_pitch};
    const i64 origin[4] = {0, term, 0, output}, size[4] = {1, line_terms, taps, winograd::lanes};
    box.set(extent, pitch, origin, size);
    return c.stage(buf, box);
  }

  /// Calls set(product, lane, point) for the outputs of term k of what was staged.
  template <class C, class W, class Set>
  CORTADO_FN void to_points(C& c, const W& staged, i64 k, Set set) const {
    if (turned)
      c.each(winograd::lanes, [&](i64 lane) { transform<true>(staged, k * taps, lane, set); });
    else
      c.each(winograd::lanes, [&](i64 lane) { transform<false>(staged, k * taps, lane, set); });
  }

 private:
  template <bool turn, class W, class Set>
  CORTADO_FN static void transform(const W& w, i64 row, i64 lane, const Set& set) {
    auto first = w(row, lane);
    decltype(first) t[F::products];
    CORTADO_UNROLL
    for (int r = 0; r < F::kernel; ++r) {
      CORTADO_UNROLL
      for (int j = 0; j < F::kernel; ++j)
        t[r * F::points + j] = w(row + (turn ? taps - 1 - r * F::kernel - j : r * F::kernel + j), lane);
    }
    CORTADO_UNROLL
    for (int j = 0; j < F::kernel; ++j) F::from_weights(t + j, F::points);
    CORTADO_UNROLL
    for (int r = 0; r < F::points; ++r) F::from_weights(t + r * F::points, 1);
    CORTADO_UNROLL
    for (int k = 0; k < F::products; ++k) set(k, lane, t[k]);
  }
};

/// Weights as points in memory, WinogradPanels. A line is a group of outputs of some terms.
template <class F>
struct WinogradWeights {
  static constexpr const char* label = "winograd_weights";
  WinogradFilters<F> filters;
  float* u;
  WinogradPanels panels;
  Buf u_buf;

  /// Of outputs.
  CORTADO_FN i64 groups() const { return panels.count() * panels.panel / winograd::lanes; }
  CORTADO_FN i64 lines() const { return groups() * ceil_div(panels.terms, filters.line_terms); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const WinogradWeights p = *this;
    const i64 groups = p.groups(), panel = p.panels.panel, matrix = p.panels.matrix(), step = p.filters.line_terms;
    c.lines(
        p.lines(), Depth::one,
        [&](i64 i) { return p.filters.stage(c, i / groups * step, i % groups * winograd::lanes); },
        [&](i64 i, auto& w) {
          const i64 first = i / groups * step, terms = math::min(step, p.panels.terms - first),
                    output = i % groups * winograd::lanes;
          float* const to = p.u + output / panel * F::products * matrix + output % panel;
          for (i64 k = 0; k < terms; ++k) {
            auto u = c.out_streamed(p.u_buf, to + (first + k) * panel, F::products, winograd::lanes, matrix);
            p.filters.to_points(c, w, k, [&](i64 product, i64 lane, auto point) { u.set(product, lane, point); });
            c.put(u);
          }
        });
  }
};

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
  /// Of a y in blocks: for each row of Winograd's tiles of an image the sums over each channel's values and over their
  /// squares, [image][row of tiles][2][image channels]; null: none.
  float* sums;
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
    const i64 top = (p.out.first + at.row) * F::outputs, plane = p.height * p.width, width = p.width,
              rows = math::min(F::outputs, p.height - top);
    auto y = out_lanes<blocks>(
        c, p.y_buf,
        p.y + (at.image * p.out.image_channels + at.channel) * plane + top * width * channel_block(p.layout),
        rows * width, plane, math::min(winograd::lanes, p.out.channels - at.channel));
    for (i64 col = 0; col < p.out.cols; ++col) {
      const i64 pixel = col * F::outputs, cols = math::min(F::outputs, width - pixel), place = row.place(col);
      const auto sum = [&](i64 product, i64 lane) { return acc(product * order.tiles() + place, column + lane); };
      with_outputs<F>(row.outputs, order.outputs_of_col(col), [&](auto of_rows, auto of_cols) {
        const auto write = [&](bool has_last_row, bool has_last_col) {
          c.each(winograd::lanes, [&](i64 lane) {
            transform<decltype(of_rows)::value, decltype(of_cols)::value>(sum, lane, has_last_row, has_last_col, width,
                                                                          pixel, y);
          });
        };
        if (F::fewer == 1 || (rows == of_rows && cols == of_cols))
          write(true, true);
        else
          write(rows == of_rows, cols == of_cols);
      });
    }
    if constexpr (blocks)
      if (p.sums != nullptr) p.leave_sums(c, at, rows * width, y);
    c.put(y);
  }

  template <class C, class Y>
  CORTADO_FN void leave_sums(C& c, const WinogradTiles::Line& at, i64 pixels, const Y& y) const {
    const i64 part = at.image * ceil_div(height, F::outputs) + out.first + at.row;
    auto left = part_sums(c, sums_buf, sums, out.image_channels, part, at.channel);
    clear_sums(c, left);
    add_distances(
        c, [&](i64 pixel, i64 lane) { return y.at(pixel, lane); }, pixels, LaneValues{}, left);
    c.put(left);
  }

  /// A tile of rows x cols outputs, the last of which may be beyond the pixels: tiles take no more than that too many.
  template <int rows, int cols, class M, class Out>
  CORTADO_FN static void transform(const M& m, i64 lane, bool has_last_row, bool has_last_col, i64 width, i64 pixel,
                                   Out& y) {
    static_assert(F::fewer <= 2 && F::least <= 2, "or more are beyond them");
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
      for (int j = 0; j < cols; ++j)
        if ((r < rows - 1 || has_last_row) && (j < cols - 1 || has_last_col))
          y.set(r * width + pixel + j, lane, t[r * F::points + j]);
    }
  }
};

/// dw (oc x ic x kernel x kernel) += Gt (x' dy) G, or is set to it, of matrices of points of inputs and of outputs'
/// gradients. A tile is a slice of inputs by a slice of outputs: the sums of all its products are its own.
template <class F>
struct WinogradGradient {
  static constexpr const char* label = "winograd_weight_gradient";
  static constexpr i64 taps = F::kernel * F::kernel;
  const float *x, *dy;
  float* dw;
  WinogradTiles of_x, of_y;
  i64 in_groups, out_groups;  ///< of channels, in a slice
  i64 line_terms;             ///< inputs whose weights are written together
  bool sets;
  Buf x_buf, dy_buf, acc_buf, old_buf, dw_buf;

  CORTADO_FN i64 out_slices() const { return ceil_div(of_y.groups(), out_groups); }
  CORTADO_FN i64 tiles() const { return ceil_div(of_x.groups(), in_groups) * out_slices(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const WinogradGradient p = *this;
    c.tiles(p.tiles(), [&](i64 tile) {
      const i64 in = tile / p.out_slices() * p.in_groups, out = tile % p.out_slices() * p.out_groups,
                ins = math::min(p.in_groups, p.of_x.groups() - in),
                outs = math::min(p.out_groups, p.of_y.groups() - out);
      TileShape shape;
      shape.m = F::products * ins * winograd::lanes;
      shape.n1 = outs, shape.n0 = winograd::lanes;
      shape.k = p.of_x.count();
      auto acc = c.template sums<float>(p.acc_buf, shape);
      p.multiply(c, in, ins, out, outs, acc);
      for (i64 group = 0; group < outs; ++group)
        for (i64 first = 0; first < ins * winograd::lanes; first += p.line_terms)
          p.to_weights(c, acc, ins, first, group, in * winograd::lanes, (out + group) * winograd::lanes);
    });
  }

 private:
  /// Sums of all products, in rows [product][input]; sixteen inputs at a time, whose points lie next to each other.
  template <class C, class Sums>
  CORTADO_FN void multiply(C& c, i64 in, i64 ins, i64 out, i64 outs, Sums& acc) const {
    const WinogradGradient p = *this;
    const i64 terms = p.of_x.count();
    const auto order = p.of_x.template order<F>();
    RightView view;
    view.k_stride = winograd::lanes, view.n1_stride = terms * winograd::lanes;
    c.pipeline(
        F::products, Depth::one,
        [&](i64 product) {
          return both(c.stage_a(p.x_buf, panels(p.x + product * p.of_x.matrix(), p.of_x, in, ins),
                                LeftView{1, winograd::lanes}),
                      c.stage_b(p.dy_buf, panels(p.dy + product * p.of_y.matrix(), p.of_y, out, outs), view));
        },
        [&](i64 product, auto& points) {
          const Range tiles = order.needing(product);
          for (i64 group = 0; group < ins; ++group) {
            auto sums = c.rows(acc, (product * ins + group) * winograd::lanes, winograd::lanes, tiles.count());
            Taps taps;
            taps.a = (group * terms + tiles.first) * winograd::lanes;
            taps.b = tiles.first * winograd::lanes;
            c.product(sums, c.row_share(points.first, 0), c.col_share(points.second, 0), taps);
          }
        });
  }
  CORTADO_FN static Box<float> panels(const float* matrix, const WinogradTiles& tiles, i64 group, i64 groups) {
    const i64 count = tiles.count();
    return Box<float>::matrix(matrix, tiles.groups() * count, winograd::lanes, winograd::lanes, group * count, 0,
                              groups * count, winograd::lanes);
  }

  /// Of inputs from `first` of a slice on, which begins at `input`, and of a group of outputs.
  template <class C, class Sums>
  CORTADO_FN void to_weights(C& c, const Sums& acc, i64 ins, i64 first, i64 group, i64 input, i64 output) const {
    const WinogradGradient p = *this;
    const i64 ic = p.of_x.channels, oc = p.of_y.channels, terms = math::min(p.line_terms, ic - input - first);
    if (terms <= 0) return;
    const auto write = [&](const auto& old) {
      auto q = c.out_turned(p.dw_buf, p.dw + (output * ic + input + first) * taps, terms * taps, winograd::lanes,
                            ic * taps, math::min(winograd::lanes, oc - output));
      for (i64 k = 0; k < terms; ++k) {
        const auto du = [&](i64 product, i64 lane) {
          return acc(product * ins * winograd::lanes + first + k, group * winograd::lanes + lane);
        };
        c.each(winograd::lanes, [&](i64 lane) { transform(du, old, lane, k * taps, q); });
      }
      c.put(q);
    };
    if (p.sets) {
      write([](i64, i64) { return 0.0f; });
    } else {
      Box<float> box;
      box.base = p.dw;
      const i64 extent[4] = {1, 1, ic * taps, oc}, pitch[4] = {0, 0, 1, ic * taps};
      const i64 origin[4] = {0, 0, (input + first) * taps, output}, size[4] = {1, 1, terms * taps, winograd::lanes};
      box.set(extent, pitch, origin, size);
      write(c.stage(p.old_buf, box));
    }
  }

  template <class In, class Old, class Out>
  CORTADO_FN static void transform(const In& du, const Old& old, i64 lane, i64 row, Out& q) {
    auto first = du(0, lane);
    decltype(first) t[F::products];
    CORTADO_UNROLL
    for (int k = 0; k < F::products; ++k) t[k] = du(k, lane);
    CORTADO_UNROLL
    for (int j = 0; j < F::points; ++j) F::to_weight_gradients(t + j, F::points);
    CORTADO_UNROLL
    for (int r = 0; r < F::kernel; ++r) F::to_weight_gradients(t + r * F::points, 1);
    CORTADO_UNROLL
    for (int r = 0; r < F::kernel; ++r) {
      CORTADO_UNROLL
      for (int j = 0; j < F::kernel; ++j) {
        const i64 at = row + r * F::kernel + j;
        q.set(at, lane, old(at, lane) + t[r * F::points + j]);
      }
    }
  }
};

}  // namespace cortado
