#pragma once
#include "layers/convolution/set_or_add.h"
#include "layers/convolution/strassen/quadrants.h"

namespace cortado {

/// Strassen's products of gradients, channels by pixels, and inputs, pixels by channels: [product][output][input],
/// outputs and inputs of a half each. A tile is a slice of inputs by a slice of outputs of one product.
struct StrassenGradient {
  static constexpr const char* label = "strassen_weight_gradient";
  StrassenPixels x, dy;
  float* to;
  i64 in_slice, out_slice;  ///< blocks of channels
  Buf acc_buf;

  CORTADO_FN i64 in_slices() const { return ceil_div(x.blocks(), in_slice); }
  CORTADO_FN i64 out_slices() const { return ceil_div(dy.blocks(), out_slice); }
  CORTADO_FN i64 tiles() const { return strassen::products * in_slices() * out_slices(); }
  CORTADO_FN i64 inputs() const { return x.blocks() * block_channels; }    ///< of a half
  CORTADO_FN i64 outputs() const { return dy.blocks() * block_channels; }  ///< of a half

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const StrassenGradient p = *this;
    c.tiles(p.tiles(), [&](i64 tile) {
      const i64 in = tile / p.out_slices() % p.in_slices() * p.in_slice, out = tile % p.out_slices() * p.out_slice,
                product = tile / p.out_slices() / p.in_slices();
      const i64 ins = math::min(p.in_slice, p.x.blocks() - in), outs = math::min(p.out_slice, p.dy.blocks() - out);
      TileShape shape;
      shape.m = outs * block_channels, shape.n1 = ins, shape.n0 = block_channels, shape.k = p.x.cols;
      auto acc = c.template sums<float>(p.acc_buf, shape);
      const i64 from_block = p.x.pixels() * block_channels;
      for (i64 pair = 0; pair < p.x.pairs(); ++pair)
        p.dy.with_left(c, pair, strassen::of_left(product), out, outs, LeftView{1, block_channels}, [&](auto& left) {
          p.x.with_right(c, pair, strassen::of_right(product), in, ins, RightView{block_channels, 0, from_block},
                         [&](auto& right) { p.multiply(c, pair, outs, left, right, acc); });
        });
      for (i64 block = 0; block < outs; ++block)
        c.store(c.rows(acc, block * block_channels, block_channels), p.destination(product, out + block, in, ins),
                [](float value, float, i64, i64) { return value; });
    });
  }

 private:
  template <class C, class Left, class Right, class Sums>
  CORTADO_FN void multiply(C& c, i64 pair, i64 outs, Left& left, Right& right, Sums& acc) const {
    auto operands = both(left, right);
    for (i64 block = 0; block < outs; ++block) {
      auto sums = c.rows(acc, block * block_channels, block_channels);
      Taps taps;
      taps.count0 = x.images, taps.a0 = taps.b0 = x.cols * block_channels;
      taps.a = block * x.pixels() * block_channels;
      set_or_add(c, pair, sums, operands, taps);
    }
  }
  CORTADO_FN OutBox<float> destination(i64 product, i64 out, i64 in, i64 ins) const {
    OutBox<float> box;
    box.base = to + (product * outputs() + out * block_channels) * inputs() + in * block_channels;
    box.rows = block_channels;
    box.pitch_m = inputs();
    box.limit1 = ins, box.pitch1 = block_channels;
    box.limit0 = block_channels;
    box.reads_old = false;
    return box;
  }
};

/// dw (outputs x inputs) += what StrassenGradient's products make, or is set to it.
struct StrassenGradientSums {
  static constexpr const char* label = "strassen_gradient_sums";
  static constexpr i64 rows = 8, cols = 256;  ///< outputs and inputs of a line, at most
  const float* from;
  float* dw;
  bool sets;            ///< dw = them
  i64 inputs, outputs;  ///< of a half
  Buf from_buf[strassen::products];
  SetOrAdd to;

  CORTADO_FN i64 chunks() const { return ceil_div(inputs, cols); }
  CORTADO_FN i64 lines() const { return ceil_div(outputs, rows) * chunks(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const StrassenGradientSums p = *this;
    const auto fetch = [&](i64 line) {
      return gather(p.product(c, line, 0), p.product(c, line, 1), p.product(c, line, 2), p.product(c, line, 3),
                    p.product(c, line, 4), p.product(c, line, 5), p.product(c, line, 6));
    };
    const auto work = named([&](i64 line, const auto&... products) {
      const i64 out = line / p.chunks() * rows, first = line % p.chunks() * cols;
      const i64 outs = math::min(rows, p.outputs - out), count = math::min(cols, p.inputs - first);
      for (i64 r = 0; r < outs; ++r)
        for (i64 quadrant = 0; quadrant < 4; ++quadrant) {
          const i64 output = quadrant / 2 * p.outputs + out + r;
          p.write(c, quadrant, r, count, p.dw + (2 * output + quadrant % 2) * p.inputs + first, products...);
        }
    });
    c.lines(p.lines(), Depth::one, fetch, work);
  }

 private:
  template <class C>
  CORTADO_FN auto product(C& c, i64 line, i64 i) const {
    const i64 out = line / chunks() * rows, first = line % chunks() * cols;
    return c.get2d(from_buf[i], from + (i * outputs + out) * inputs + first, math::min(rows, outputs - out),
                   math::min(cols, inputs - first), inputs);
  }
  template <class C, class M>
  CORTADO_FN void write(C& c, i64 quadrant, i64 r, i64 count, float* at, const M& m1, const M& m2, const M& m3,
                        const M& m4, const M& m5, const M& m6, const M& m7) const {
    const auto leave = [&](const auto& value) { to.leave(c, sets, at, count, value); };
    switch (quadrant) {
      case 0: return leave([&](i64 i) { return (m1(r, i) + m4(r, i)) + (m7(r, i) - m5(r, i)); });
      case 1: return leave([&](i64 i) { return m3(r, i) + m5(r, i); });
      case 2: return leave([&](i64 i) { return m2(r, i) + m4(r, i); });
      default: return leave([&](i64 i) { return (m1(r, i) - m2(r, i)) + (m3(r, i) + m6(r, i)); });
    }
  }
};

}  // namespace cortado
