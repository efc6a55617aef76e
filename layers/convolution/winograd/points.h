#pragma once
#include "core/machine/channel_lanes.h"
#include "core/machine/math.h"
#include "layers/convolution/winograd/tiles.h"

namespace cortado {

/// Arrays that are transformed to points, rows of tiles of images x channels x height x width. Inputs become Bt x B,
/// with tile (i, j) beginning at (outputs i - pad_h, outputs j - pad_w). Gradients become A dy At.
template <class F, bool gradients, class T>
struct WinogradPixels {
  static constexpr i64 side = gradients ? F::outputs : F::points;  ///< of the square that a tile reads
  const T* x;
  i64 height, width, pad_h, pad_w;
  Layout layout;
  WinogradTiles tiles;
  Buf buf;

  CORTADO_FN i64 columns() const { return (tiles.cols - 1) * F::outputs + side; }
  CORTADO_FN i64 floats() const { return side * columns() * winograd::lanes; }

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
    for (int r = 0; r < F::points; ++r) {
      if (r < row_points) one_way<cols>(t + r * F::points, 1);
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
    const auto fetch = [&](i64 i) { return p.pixels.stage(c, tiles.line(i)); };
    c.lines(tiles.lines(), Depth::one, fetch, [&](i64 i, auto& x) {
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

/// Weights (oc x ic x kernel x kernel) that are transformed to points: G w Gt. For the input gradient they are turned
/// by 180 degrees, with inputs for outputs.
template <class F>
struct WinogradFilters {
  static constexpr i64 taps = F::kernel * F::kernel;
  const float* w;
  i64 outputs, terms, output_pitch, term_pitch;
  bool turned;
  i64 line_terms;  ///< that are staged together
  Buf buf;

  CORTADO_FN i64 floats() const { return line_terms * taps * winograd::lanes; }

  /// The weights of some terms and sixteen outputs, outputs next to each other; zero beyond the last one.
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
    for (int r = 0; r < F::points; ++r) {
      F::from_weights(t + r * F::points, 1);
      CORTADO_UNROLL
      for (int k = r * F::points; k < (r + 1) * F::points; ++k) set(k, lane, t[k]);
    }
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

  /// The groups of outputs.
  CORTADO_FN i64 groups() const { return panels.count() * panels.panel / winograd::lanes; }
  CORTADO_FN i64 lines() const { return groups() * ceil_div(panels.terms, filters.line_terms); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const WinogradWeights p = *this;
    const i64 groups = p.groups(), panel = p.panels.panel, matrix = p.panels.matrix(), step = p.filters.line_terms;
    const auto fetch = [&](i64 i) { return p.filters.stage(c, i / groups * step, i % groups * winograd::lanes); };
    c.lines(p.lines(), Depth::one, fetch, [&](i64 i, auto& w) {
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

}  // namespace cortado
