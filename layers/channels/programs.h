#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/rectify.h"
#include "core/machine/sums.h"
#include "layers/channels/parts.h"
#include "layers/channels/sums.h"

namespace cortado {

/// An operand with one value per channel, or with `otherwise` for all where it is not `given`: `values` is then any
/// array of as many.
struct ChannelOperand {
  const float* values;
  bool given;
  float otherwise;
  Buf buf;

  template <class Values, class Line>
  CORTADO_FN Values of(const Line& line) const {
    return given ? Values::of(line) : Values::all(otherwise);
  }
};

/// y = rectify((x - shift[c]) scale[c] + bias[c]); y may be x.
template <i64 block, class T>
struct ChannelAffine {
  static constexpr const char* label = "channel_affine";
  using Values = ChannelValues<block>;
  ChannelLines<block> s;
  const T* x;
  ChannelOperand shift, scale, bias;
  Rectify rectify;
  T* y;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ChannelAffine p = *this;
    const auto values = [&](const ChannelOperand& operand, i64 group) {
      return p.s.get_values(c, operand.buf, operand.values, group);
    };
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const i64 group = p.s.group(i);
          return gather(p.s.get(c, p.x_buf, p.x, group, p.s.in_group(i)), values(p.shift, group),
                        values(p.scale, group), values(p.bias, group));
        },
        named([&](i64 i, auto x, auto shifts, auto scales, auto biases) {
          const i64 piece = p.s.in_group(i);
          const Values shift = p.shift.template of<Values>(shifts), scale = p.scale.template of<Values>(scales),
                       bias = p.bias.template of<Values>(biases);
          const Rectify rectify = p.rectify;
          auto y = p.s.out(c, p.y_buf, p.y, p.s.group(i), piece);
          p.s.each(c, piece, [&](i64 r, i64 q) { y.set(r, q, rectify((x(r, q) - shift[q]) * scale[q] + bias[q])); });
          p.s.put(c, y);
        }));
  }
};

/// plain[c] = sum dy and product[c] = sum dy x over each channel; added to what is there if `adds`. A line is a part of
/// a group. Sums of parts follow each other, `channels` apart.
template <i64 block, class T>
struct ChannelGradients {
  static constexpr const char* label = "channel_gradients";
  ChannelLines<block> s;
  const T *x, *dy;
  float *plain, *product;
  bool adds;
  ChannelParts parts;
  Buf x_buf, dy_buf, plain_buf, product_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ChannelGradients p = *this;
    each_line(c, p.s.groups * p.parts.count, [&](i64 line) {
      const i64 group = line % p.s.groups, part = line / p.s.groups;
      const Range pieces = p.parts.pieces(part, p.s.of_group());
      auto plain = channel_sum(c, p.s, p.plain_buf, p.plain + part * p.s.channels(), group);
      auto product = channel_sum(c, p.s, p.product_buf, p.product + part * p.s.channels(), group);
      plain.begin(c, p.adds);
      product.begin(c, p.adds);
      c.pipeline(
          pieces.count(), Depth::two,
          [&](i64 at) {
            const i64 i = pieces.first + at;
            return gather(p.s.get(c, p.x_buf, p.x, group, i), p.s.get(c, p.dy_buf, p.dy, group, i));
          },
          named([&](i64 i, auto x, auto dy) {
            add_piece(
                c, p.s, pieces.first + i,
                [&](i64 r, i64 q) {
                  const auto g = dy(r, q);
                  return TwoSums<decltype(g * x(r, q))>{g, g * x(r, q)};
                },
                plain, product);
          }));
      plain.end(c, p.adds);
      product.end(c, p.adds);
    });
  }
};

/// sums[c] += sum f(x...) over each channel, or = without `adds`; a line is a part of a group, as in ChannelGradients.
/// Terms: a function of the arrays' values.
template <i64 block, class Terms, class T, int arrays>
struct SumChannels {
  static constexpr const char* label = Terms::label;
  ChannelLines<block> s;
  const T* x[arrays];
  float* sums;
  bool adds;
  ChannelParts parts;
  Buf x_buf[arrays], sums_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumChannels p = *this;
    each_line(c, p.s.groups * p.parts.count, [&](i64 line) {
      const i64 group = line % p.s.groups, part = line / p.s.groups;
      const Range range = p.parts.pieces(part, p.s.of_group());
      auto sum = channel_sum(c, p.s, p.sums_buf, p.sums + part * p.s.channels(), group);
      sum.begin(c, p.adds);
      c.pipeline(
          range.count(), Depth::two, [&](i64 i) { return p.pieces(c, group, range.first + i); },
          named([&](i64 i, auto... pieces) { p.add(c, range.first + i, sum, pieces...); }));
      sum.end(c, p.adds);
    });
  }

 private:
  template <class C>
  CORTADO_FN auto pieces(C& c, i64 group, i64 i) const {
    if constexpr (arrays == 1)
      return gather(s.get(c, x_buf[0], x[0], group, i));
    else
      return gather(s.get(c, x_buf[0], x[0], group, i), s.get(c, x_buf[1], x[1], group, i));
  }
  template <class C, class Sum, class... Pieces>
  CORTADO_FN void add(C& c, i64 i, Sum& sum, const Pieces... pieces) const {
    add_piece(
        c, s, i,
        [&](i64 r, i64 q) {
          const auto term = Terms::term(pieces(r, q)...);
          return OneSum<decltype(term + term)>{term};
        },
        sum);
  }
};
struct PlainTerms {
  static constexpr const char* label = "channel_sums";
  template <class V>
  CORTADO_FN static V term(V x) {
    return x;
  }
};

/// dy = dy where y > 0, slope dy elsewhere; then sums[c] += sum dy over each channel, or = without `adds`. A line is a
/// part of a group, as in ChannelGradients.
template <i64 block, class T>
struct RectifyChannels {
  static constexpr const char* label = "rectify_and_sum";
  ChannelLines<block> s;
  const T* y;
  T* dy;
  float* sums;
  float slope;
  bool adds;
  ChannelParts parts;
  Buf y_buf, dy_buf, rectified_buf, sums_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const RectifyChannels p = *this;
    each_line(c, p.s.groups * p.parts.count, [&](i64 line) {
      const i64 group = line % p.s.groups, part = line / p.s.groups;
      const Range pieces = p.parts.pieces(part, p.s.of_group());
      auto sum = channel_sum(c, p.s, p.sums_buf, p.sums + part * p.s.channels(), group);
      sum.begin(c, p.adds);
      c.pipeline(
          pieces.count(), Depth::two,
          [&](i64 at) {
            const i64 i = pieces.first + at;
            const T* const dy = p.dy;
            return gather(p.s.get(c, p.y_buf, p.y, group, i), p.s.get(c, p.dy_buf, dy, group, i));
          },
          named([&](i64 at, auto y, auto dy) {
            const i64 i = pieces.first + at;
            const float slope = p.slope;
            auto g = p.s.out(c, p.rectified_buf, p.dy, group, i);
            p.s.each(c, i, [&](i64 r, i64 q) {
              const auto v = dy(r, q);
              g.set(r, q, math::select(y(r, q) > 0.0f, v, slope * v));
            });
            add_piece(
                c, p.s, i, [&](i64 r, i64 q) { return OneSum<decltype(g.at(r, q) + 0.0f)>{g.at(r, q)}; }, sum);
            p.s.put(c, g);
          }));
      sum.end(c, p.adds);
    });
  }
};

/// The bias of a map that follows another bias: scale (x + first) + second = scale x + result.
struct MapBias {
  static constexpr const char* label = "map_bias";
  template <class V>
  CORTADO_FN auto operator()(V scale, V first, V second) const {
    return scale * first + second;
  }
};

}  // namespace cortado
