#pragma once
#include "layers/channels/programs.h"

namespace cortado {

/// y = x where x is positive, slope[c] x elsewhere; y may be x.
struct PReluForward {
  static constexpr const char* label = "prelu_forward";
  ChannelRows s;
  const float *x, *slope;
  float* y;
  Buf x_buf, slope_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PReluForward p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          return both(c.get(p.x_buf, p.x + p.s.offset(i), p.s.width(i)),
                      c.get(p.slope_buf, p.slope + p.s.channel(i), 1));
        },
        [&](i64 i, auto& in) {
          const auto x = in.first;
          const float slope = in.second[0];
          auto y = c.out(p.y_buf, p.y + p.s.offset(i), x.n);
          c.each(x.n, [&](i64 j) { y.set(j, math::select(x[j] > 0.0f, x[j], slope * x[j])); });
          c.put(y);
        });
  }
};

/// dx = dy where x is positive, slope[c] dy elsewhere; dx may be dy.
struct PReluBackward {
  static constexpr const char* label = "prelu_backward";
  ChannelRows s;
  const float *x, *slope, *dy;
  float* dx;
  Buf x_buf, slope_buf, dy_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PReluBackward p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const i64 at = p.s.offset(i), n = p.s.width(i);
          return both(c.get(p.x_buf, p.x + at, n),
                      both(c.get(p.dy_buf, p.dy + at, n), c.get(p.slope_buf, p.slope + p.s.channel(i), 1)));
        },
        [&](i64 i, auto& in) {
          const auto x = in.first, dy = in.second.first;
          const float slope = in.second.second[0];
          auto dx = c.out(p.dx_buf, p.dx + p.s.offset(i), x.n);
          c.each(x.n, [&](i64 j) { dx.set(j, math::select(x[j] > 0.0f, dy[j], slope * dy[j])); });
          c.put(dx);
        });
  }
};

/// dslope[c] += the sum of x dy over those x of a channel that are not positive.
struct PReluSlopes {
  static constexpr const char* label = "prelu_slopes";
  ChannelRows s;
  const float *x, *dy;
  float* dslope;
  Buf x_buf, dy_buf, dslope_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PReluSlopes p = *this;
    c.lines(
        p.s.channels, Depth::one, [&](i64 k) { return k; },
        [&](i64 k, i64&) {
          double sum = 0;
          c.pipeline(
              p.s.outer * p.s.blocks(), Depth::two,
              [&](i64 i) {
                const i64 at = p.s.offset(p.s.line_of(k, i)), n = p.s.width(p.s.line_of(k, i));
                return both(c.get(p.x_buf, p.x + at, n), c.get(p.dy_buf, p.dy + at, n));
              },
              [&](i64, auto& in) {
                const auto x = in.first, dy = in.second;
                sum += c.fold(
                    x.n, 0.0f, [](float a, float b) { return a + b; },
                    [&](i64 j) { return math::select(x[j] > 0.0f, 0.0f, x[j] * dy[j]); });
              });
          auto to = c.update(p.dslope_buf, p.dslope + k, 1);
          c.once([&] { to.set(0, to.at(0) + static_cast<float>(sum)); });
          c.put(to);
        });
  }
};

}  // namespace cortado
