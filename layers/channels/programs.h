#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/channels/block_programs.h"

namespace cortado {

/// An array seen as outer x channels x inner, with one value per channel beside it; rows of `inner` are cut into
/// blocks.
struct ChannelRows {
  i64 outer, channels, inner, block;
  CORTADO_FN i64 blocks() const { return (inner + block - 1) / block; }
  CORTADO_FN i64 lines() const { return outer * channels * blocks(); }
  CORTADO_FN i64 channel(i64 line) const { return line / blocks() % channels; }
  CORTADO_FN i64 offset(i64 line) const { return line / blocks() * inner + line % blocks() * block; }
  CORTADO_FN i64 width(i64 line) const { return math::min(block, inner - line % blocks() * block); }
  /// Block i of those that hold channel c.
  CORTADO_FN i64 line_of(i64 c, i64 i) const { return (i / blocks() * channels + c) * blocks() + i % blocks(); }
};

/// y = v where v > 0, slope v elsewhere, v = (x - shift[c]) scale[c] + bias[c]; any of the three may be null, not all;
/// y may be x.
template <class T>
struct ChannelAffine {
  static constexpr const char* label = "channel_affine";
  ChannelRows s;
  const T* x;
  const float *shift, *scale, *bias;
  float slope;
  T* y;
  Buf x_buf, shift_buf, scale_buf, bias_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ChannelAffine p = *this;
    const float* const any = p.scale  ? p.scale
                             : p.bias ? p.bias
                                      : p.shift;  // to be fetched in place of what is not there
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const i64 k = p.s.channel(i);
          return both(c.get(p.x_buf, p.x + p.s.offset(i), p.s.width(i)),
                      both(c.get(p.scale_buf, (p.scale ? p.scale : any) + k, 1),
                           both(c.get(p.shift_buf, (p.shift ? p.shift : any) + k, 1),
                                c.get(p.bias_buf, (p.bias ? p.bias : any) + k, 1))));
        },
        [&](i64 i, auto& in) {
          const auto x = in.first;
          const float scale = p.scale ? in.second.first[0] : 1.0f;
          const float shift = p.shift ? in.second.second.first[0] : 0.0f,
                      bias = p.bias ? in.second.second.second[0] : 0.0f;
          auto y = c.out(p.y_buf, p.y + p.s.offset(i), x.n);
          const float slope = p.slope;
          c.each(x.n, [&](i64 j) {
            const auto v = (x[j] - shift) * scale + bias;
            y.set(j, math::select(v > 0.0f, v, slope * v));
          });
          c.put(y);
        });
  }
};

/// plain[c] = sum dy and product[c] = sum dy x over each channel; added to what is there if `adds`.
template <class T>
struct ChannelGradients {
  static constexpr const char* label = "channel_gradients";
  ChannelRows s;
  const T *x, *dy;
  float *plain, *product;
  bool adds;
  Buf x_buf, dy_buf, plain_buf, product_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ChannelGradients p = *this;
    c.lines(
        p.s.channels, Depth::one, [&](i64 k) { return k; },
        [&](i64 k, i64&) {
          double plain = 0, product = 0;
          const auto add = [](float a, float b) { return a + b; };
          c.pipeline(
              p.s.outer * p.s.blocks(), Depth::two,
              [&](i64 i) {
                const i64 at = p.s.offset(p.s.line_of(k, i)), n = p.s.width(p.s.line_of(k, i));
                return both(c.get(p.x_buf, p.x + at, n), c.get(p.dy_buf, p.dy + at, n));
              },
              [&](i64, auto& in) {
                const auto x = in.first, dy = in.second;
                plain += c.fold(x.n, 0.0f, add, [&](i64 j) { return dy[j]; });
                product += c.fold(x.n, 0.0f, add, [&](i64 j) { return dy[j] * x[j]; });
              });
          auto a = c.update(p.plain_buf, p.plain + k, 1);
          auto b = c.update(p.product_buf, p.product + k, 1);
          c.once([&] {
            a.set(0, (p.adds ? a.at(0) : 0.0f) + static_cast<float>(plain));
            b.set(0, (p.adds ? b.at(0) : 0.0f) + static_cast<float>(product));
          });
          c.put(a);
          c.put(b);
        });
  }
};

}  // namespace cortado
