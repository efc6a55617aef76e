#pragma once
#include "core/machine/gather.h"
#include "core/machine/math.h"
#include "layers/convolution/winograd/tiles.h"

namespace cortado {

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
          return gather(c.stage_a(p.x_buf, panels(p.x + product * p.of_x.matrix(), p.of_x, in, ins),
                                  LeftView{1, winograd::lanes}),
                        c.stage_b(p.dy_buf, panels(p.dy + product * p.of_y.matrix(), p.of_y, out, outs), view));
        },
        named([&](i64 product, auto& inputs, auto& gradients) {
          const Range tiles = order.needing(product);
          for (i64 group = 0; group < ins; ++group) {
            auto sums = c.rows(acc, (product * ins + group) * winograd::lanes, winograd::lanes, tiles.count());
            Taps taps;
            taps.a = (group * terms + tiles.first) * winograd::lanes;
            taps.b = tiles.first * winograd::lanes;
            c.product(sums, c.row_share(inputs, 0), c.col_share(gradients, 0), taps);
          }
        }));
  }
  CORTADO_FN static Box<float> panels(const float* matrix, const WinogradTiles& tiles, i64 group, i64 groups) {
    const i64 count = tiles.count();
    return Box<float>::matrix(matrix, tiles.groups() * count, winograd::lanes, winograd::lanes, group * count, 0,
                              groups * count, winograd::lanes);
  }

  /// Turns sums into weights' gradients, of inputs from `first` of a slice on, which begins at `input`, and of a group
  /// of outputs.
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
