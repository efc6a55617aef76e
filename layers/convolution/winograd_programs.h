#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// Winograd's F(4x4, 3x3) for convolutions (Lavin and Gray, "Fast algorithms for convolutional neural networks", 2016,
/// section 4): a tile of 4 x 4 outputs sees 6 x 6 inputs and takes 36 products instead of 144. With the points 0, 1,
/// -1, 2, -2 and infinity, y = At [(G w Gt) * (Bt x B)] A, `*` element by element. The six one-dimensional transforms,
/// each from and to places `step` apart:
namespace winograd {
constexpr i64 outputs = 4, kernel = 3, points = 6, products = 36;

/// Bt: six inputs to six points.
template <class T>
CORTADO_FN void from_inputs(T* v, int step) {
  const T a = v[0], b = v[step], c = v[2 * step], d = v[3 * step], e = v[4 * step], f = v[5 * step];
  const T even = e - 4.0f * c, odd = d - 4.0f * b, near = e - c, far = 2.0f * (d - b);
  v[0] = 4.0f * a - 5.0f * c + e;
  v[step] = even + odd;
  v[2 * step] = even - odd;
  v[3 * step] = near + far;
  v[4 * step] = near - far;
  v[5 * step] = 4.0f * b - 5.0f * d + f;
}

/// At: six points to four outputs.
template <class T>
CORTADO_FN void to_outputs(T* v, int step) {
  const T a = v[0], b = v[step] + v[2 * step], c = v[step] - v[2 * step], d = v[3 * step] + v[4 * step],
          e = v[3 * step] - v[4 * step], f = v[5 * step];
  v[0] = a + b + d;
  v[step] = c + 2.0f * e;
  v[2 * step] = b + 4.0f * d;
  v[3 * step] = c + 8.0f * e + f;
}

/// A: four gradients of outputs to six of points.
template <class T>
CORTADO_FN void from_gradients(T* v, int step) {
  const T a = v[0], b = v[step], c = v[2 * step], d = v[3 * step];
  const T even = a + c, odd = b + d, even2 = a + 4.0f * c, odd2 = 2.0f * b + 8.0f * d;
  v[step] = even + odd;
  v[2 * step] = even - odd;
  v[3 * step] = even2 + odd2;
  v[4 * step] = even2 - odd2;
  v[5 * step] = d;
}

/// G: three weights to six points.
template <class T>
CORTADO_FN void from_weights(T* v, int step) {
  const T a = v[0], b = v[step], c = v[2 * step];
  const T even = (a + c) * (-1.0f / 6), odd = b * (-1.0f / 6), even2 = a * (1.0f / 24) + c * (1.0f / 6),
          odd2 = b * (1.0f / 12);
  v[0] = a * 0.25f;
  v[step] = even + odd;
  v[2 * step] = even - odd;
  v[3 * step] = even2 + odd2;
  v[4 * step] = even2 - odd2;
  v[5 * step] = c;
}

/// Gt: six gradients of points to three of weights.
template <class T>
CORTADO_FN void to_weight_gradients(T* v, int step) {
  const T sum = v[step] + v[2 * step], difference = v[step] - v[2 * step], sum2 = v[3 * step] + v[4 * step],
          difference2 = v[3 * step] - v[4 * step];
  v[0] = v[0] * 0.25f - sum * (1.0f / 6) + sum2 * (1.0f / 24);
  v[step] = difference * (-1.0f / 6) + difference2 * (1.0f / 12);
  v[2 * step] = (sum2 - sum) * (1.0f / 6) + v[5 * step];
}
}  // namespace winograd

/// The tiles of a launch: rows [first, first + rows) of tiles of `images` images; an array of products holds those of
/// one (product, channel) next to each other.
struct WinogradTiles {
  i64 images, channels, first, rows, cols;
  CORTADO_FN i64 of_image() const { return rows * cols; }
  CORTADO_FN i64 count() const { return images * of_image(); }
};

/// What a transform of activations or of their gradients carries: planes of height x width in `x`; in reads, tile (i,
/// j) begins at (i step - pad_h, j step - pad_w).
struct WinogradPlanes {
  const float* x;
  float *padded, *v;
  i64 height, width, pad_h, pad_w;
  i64 side;  ///< of what a tile reads: 6 inputs or 4 gradients
  WinogradTiles tiles;
  Buf x_buf, padded_buf, v_buf;

  CORTADO_FN i64 padded_height() const { return (tiles.rows - 1) * winograd::outputs + side; }
  CORTADO_FN i64 padded_width() const { return (tiles.cols - 1) * winograd::outputs + side; }
};

/// x (images x channels x height x width) to v (36 x channels x tiles): Bt x B of inputs, or A dy At of gradients. A
/// line is the plane of one channel of one image: a copy with its padding, then its tiles, a row of them at a time.
template <bool gradients>
struct WinogradTransform : WinogradPlanes {
  static constexpr const char* label = gradients ? "winograd_gradients" : "winograd_inputs";

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const WinogradPlanes p = *this;
    const i64 rows = p.padded_height(), cols = p.padded_width(), row0 = p.tiles.first * winograd::outputs - p.pad_h;
    const Range inside_y{math::min(rows, math::max(i64{0}, -row0)), math::min(rows, p.height - row0)},
        inside_x{math::min(cols, p.pad_w), math::min(cols, p.width + p.pad_w)};
    c.lines(
        p.tiles.images * p.tiles.channels, Depth::two,
        [&](i64 line) { return c.get2d(p.x_buf, p.x + line * p.height * p.width, p.height, p.width, p.width); },
        [&](i64 line, auto& x) {
          auto q = c.out2d(p.padded_buf, p.padded + line * rows * cols, rows, cols, cols);
          const auto zero = [&](i64 r, i64 i) { q.set(r, i, 0.0f); };
          c.each2d(Range{0, inside_y.first}, Range{0, cols}, zero);
          c.each2d(Range{math::max(inside_y.first, inside_y.end), rows}, Range{0, cols}, zero);
          c.each2d(inside_y, Range{0, inside_x.first}, zero);
          c.each2d(inside_y, Range{inside_x.end, cols}, zero);
          c.each2d(inside_y, inside_x, [&](i64 r, i64 i) { q.set(r, i, x(row0 + r, i - p.pad_w)); });
          const i64 image = line / p.tiles.channels, channel = line % p.tiles.channels;
          for (i64 row = 0; row < p.tiles.rows; ++row) {
            auto v = c.out2d(p.v_buf, p.v + channel * p.tiles.count() + image * p.tiles.of_image() + row * p.tiles.cols,
                             winograd::products, p.tiles.cols, p.tiles.channels * p.tiles.count());
            c.each(p.tiles.cols, [&](i64 i) { transform(q, row * winograd::outputs, i, v); });
            c.put(v);
          }
          c.put(q);
        });
  }

 private:
  template <class Padded, class V>
  CORTADO_FN static void transform(const Padded& q, i64 row, i64 i, V& v) {
    constexpr int side = gradients ? 4 : 6;
    auto first = q.at(row, i * 4);
    decltype(first) t[36];
#pragma GCC unroll 36
    for (int r = 0; r < side; ++r)
#pragma GCC unroll 36
      for (int j = 0; j < side; ++j) t[r * 6 + j] = q.at(row + r, i * 4 + j);
#pragma GCC unroll 36
    for (int j = 0; j < side; ++j) one_way(t + j, 6);
#pragma GCC unroll 36
    for (int r = 0; r < 6; ++r) one_way(t + r * 6, 1);
#pragma GCC unroll 36
    for (int k = 0; k < 36; ++k) v.set(k, i, t[k]);
  }
  template <class T>
  CORTADO_FN static void one_way(T* v, int step) {
    if constexpr (gradients)
      winograd::from_gradients(v, step);
    else
      winograd::from_inputs(v, step);
  }
};

/// m (36 x channels x tiles) to y (images x channels x height x width): At m A. A line is a row of tiles of one channel
/// of one image; what the tiles make is kept as 16 rows beside m, from which rows of pixels are put together.
struct WinogradOutputs {
  static constexpr const char* label = "winograd_outputs";
  const float* m;
  float *pixels, *y;
  i64 height, width;
  WinogradTiles tiles;
  Buf m_buf, pixel_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const WinogradOutputs p = *this;
    c.lines(
        p.tiles.images * p.tiles.channels * p.tiles.rows, Depth::two,
        [&](i64 line) {
          const i64 row = line % p.tiles.rows, channel = line / p.tiles.rows % p.tiles.channels,
                    image = line / p.tiles.rows / p.tiles.channels;
          return c.get2d(p.m_buf, p.m + channel * p.tiles.count() + image * p.tiles.of_image() + row * p.tiles.cols,
                         winograd::products, p.tiles.cols, p.tiles.channels * p.tiles.count());
        },
        [&](i64 line, auto& m) {
          const i64 row = line % p.tiles.rows, first = (p.tiles.first + row) * winograd::outputs,
                    rows = math::min(winograd::outputs, p.height - first), cols = p.tiles.cols;
          auto t = c.out2d(p.pixel_buf, p.pixels + line * 16 * cols, 16, cols, cols);
          c.each(cols, [&](i64 i) { transform(m, i, t); });
          auto q = c.out2d(p.y_buf, p.y + (line / p.tiles.rows * p.height + first) * p.width, rows, p.width, p.width);
          c.each2d(rows, p.width, [&](i64 r, i64 x) { q.set(r, x, t.at(r * 4 + x % 4, x / 4)); });
          c.put(t);
          c.put(q);
        });
  }

 private:
  template <class M, class Out>
  CORTADO_FN static void transform(const M& m, i64 i, Out& q) {
    auto first = m(0, i);
    decltype(first) t[36];
#pragma GCC unroll 36
    for (int k = 0; k < 36; ++k) t[k] = m(k, i);
#pragma GCC unroll 36
    for (int j = 0; j < 6; ++j) winograd::to_outputs(t + j, 6);
#pragma GCC unroll 36
    for (int r = 0; r < 4; ++r) {
      winograd::to_outputs(t + r * 6, 1);
#pragma GCC unroll 36
      for (int j = 0; j < 4; ++j) q.set(r * 4 + j, i, t[r * 6 + j]);
    }
  }
};

/// Weights (oc x ic x 3 x 3) to u (36 x oc x ic): G w Gt; for the input gradient turned by 180 degrees and to u (36 x
/// ic x oc). A line is a row of u.
struct WinogradWeights {
  static constexpr const char* label = "winograd_weights";
  const float* w;
  float* u;
  i64 oc, ic;
  bool turned;
  Buf w_buf, u_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const WinogradWeights p = *this;
    const i64 rows = p.turned ? p.ic : p.oc, cols = p.turned ? p.oc : p.ic;
    c.lines(
        rows, Depth::two,
        [&](i64 line) {
          return p.turned ? c.get2d(p.w_buf, p.w + line * 9, p.oc, 9, p.ic * 9)
                          : c.get2d(p.w_buf, p.w + line * p.ic * 9, p.ic, 9, 9);
        },
        [&](i64 line, auto& w) {
          auto u = c.out2d(p.u_buf, p.u + line * cols, winograd::products, cols, rows * cols);
          c.each(cols, [&](i64 i) {
            auto first = w(i, 0);
            decltype(first) t[36];
#pragma GCC unroll 36
            for (int r = 0; r < 3; ++r)
#pragma GCC unroll 36
              for (int j = 0; j < 3; ++j) t[r * 6 + j] = w(i, p.turned ? 8 - r * 3 - j : r * 3 + j);
#pragma GCC unroll 36
            for (int j = 0; j < 3; ++j) winograd::from_weights(t + j, 6);
#pragma GCC unroll 36
            for (int r = 0; r < 6; ++r) winograd::from_weights(t + r * 6, 1);
#pragma GCC unroll 36
            for (int k = 0; k < 36; ++k) u.set(k, i, t[k]);
          });
          c.put(u);
        });
  }
};

/// dw (oc x ic x 3 x 3) += Gt du G of du (36 x oc x ic). A line is the weights of one output channel.
struct WinogradWeightGradient {
  static constexpr const char* label = "winograd_weight_gradient";
  const float* du;
  float* dw;
  i64 oc, ic;
  Buf du_buf, t_buf, dw_buf;
  float* turned;  ///< room for 9 x oc x ic

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const WinogradWeightGradient p = *this;
    c.lines(
        p.oc, Depth::two,
        [&](i64 line) { return c.get2d(p.du_buf, p.du + line * p.ic, winograd::products, p.ic, p.oc * p.ic); },
        [&](i64 line, auto& du) {
          auto t = c.out2d(p.t_buf, p.turned + line * 9 * p.ic, 9, p.ic, p.ic);
          c.each(p.ic, [&](i64 i) {
            auto first = du(0, i);
            decltype(first) v[36];
#pragma GCC unroll 36
            for (int k = 0; k < 36; ++k) v[k] = du(k, i);
#pragma GCC unroll 36
            for (int j = 0; j < 6; ++j) winograd::to_weight_gradients(v + j, 6);
#pragma GCC unroll 36
            for (int r = 0; r < 3; ++r) {
              winograd::to_weight_gradients(v + r * 6, 1);
#pragma GCC unroll 36
              for (int j = 0; j < 3; ++j) t.set(r * 3 + j, i, v[r * 6 + j]);
            }
          });
          auto q = c.update(p.dw_buf, p.dw + line * p.ic * 9, p.ic * 9);
          c.each(p.ic * 9, [&](i64 i) { q.set(i, q.at(i) + t.at(i % 9, i / 9)); });
          c.put(t);
          c.put(q);
        });
  }
};

}  // namespace cortado
