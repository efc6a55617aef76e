#pragma once
#include "core/machine/rectify.h"
#include "layers/batch_norm/sums.h"

namespace cortado {

/// The gradient of NormaliseForward. With g the rectifier's gradient of v and dy, measuring makes plain = sum g and
/// product = sum g n of each channel, which are also added to the gradients of bias and scale unless those are nullptr.
/// Applying makes dx = (g - share (plain + n product)) scale / sqrt(variance + eps); dx may be dy. A line is a group.
template <i64 block, class T>
struct NormaliseBackward {
  static constexpr const char* label = block == 1 ? "batch_norm_backward" : "batch_norm_blocks_backward";
  using Values = ChannelValues<block>;
  ChannelLines<block> s;
  const T *x, *dy;
  T* dx;
  const float *mean, *variance, *scale, *bias;
  SumPlaces sums;      ///< plain and product
  ChannelParts parts;  ///< those of parts of channels
  float *bias_diff, *scale_diff;
  float eps, share;
  Rectify rectify;
  NormalisePass pass;
  Buf x_buf, dy_buf, dx_buf, mean_buf, variance_buf, scale_buf, bias_buf, bias_diff_buf, scale_diff_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormaliseBackward p = *this;
    c.lines(
        p.s.groups * p.parts.count, Depth::one,
        [&](i64 line) {
          const i64 group = line % p.s.groups;
          return gather(p.s.get_values(c, p.mean_buf, p.mean, group),
                        p.s.get_values(c, p.variance_buf, p.variance, group),
                        p.s.get_values(c, p.scale_buf, p.scale, group), p.s.get_values(c, p.bias_buf, p.bias, group));
        },
        named([&](i64 line, auto means, auto variances, auto scales, auto biases) {
          const i64 group = line % p.s.groups, part = line / p.s.groups;
          const Range pieces = p.parts.pieces(part, p.s.of_group());
          const Normal g{Values::of(means), Values::made([&](i64 q) {
                           return 1.0f / math::sqrt(static_cast<float>(variances[q]) + p.eps);
                         }),
                         Values::of(scales), Values::of(biases)};
          if (p.parts.count > 1) return p.run_part(c, group, part, pieces, g);
          auto sums = p.sums.sums(c, p.s, group);
          if (p.pass != NormalisePass::apply) {
            p.measure(c, group, pieces, g, sums, p.sums.template room<block>(group));
            sums.settle(c);
            p.add_gradients(
                c, group, [&](i64 q) { return sums.first.at(q); }, [&](i64 q) { return sums.second.at(q); });
          }
          const Values plain = Values::made([&](i64 q) { return p.share * sums.first.at(q); }),
                       product = Values::made([&](i64 q) { return p.share * sums.second.at(q); });
          sums.put(c);
          if (p.pass != NormalisePass::measure) p.apply(c, group, pieces, g, plain, product);
        }));
  }

 private:
  /// A group's channels: how x is normalised, and dy passes the rectifier at normalised value n.
  struct Normal {
    Values mean, inverse, scale, bias;
    template <class V>
    CORTADO_FN auto of(V x, i64 q) const {
      return (x - mean[q]) * inverse[q];
    }
    template <class Gradient, class V, class W>
    CORTADO_FN auto gate(const Gradient& rectify, V n, W dy, i64 q) const {
      return rectify(n * scale[q] + bias[q], dy);
    }
  };

  template <class C>
  CORTADO_FN auto piece(C& c, i64 group, i64 i) const {
    return gather(s.get(c, x_buf, x, group, i), s.get(c, dy_buf, dy, group, i));
  }

  /// One part of a group, as in NormaliseForward.
  template <class C>
  CORTADO_FN void run_part(C& c, i64 group, i64 part, Range pieces, const Normal& normal) const {
    const NormaliseBackward& p = *this;
    if (p.pass == NormalisePass::measure) return p.measure_part(c, group, part, pieces, normal);
    Values plain{}, product{};
    const bool joins = p.parts.values != nullptr;
    if (joins)
      with_fetched(
          c, [&] { return p.parts.get(c, group); },
          [&](auto& line) {
            const auto sum = [&](i64 which, i64 lane) {
              const i64 at = block == 1 ? which : which * block + lane;
              return static_cast<float>(
                  p.parts.sum(c, [&](i64 q) { return static_cast<double>(line[p.parts.width * q + at]); }));
            };
            for (i64 lane = 0; lane < block; ++lane) plain.v[lane] = sum(0, lane), product.v[lane] = sum(1, lane);
          });
    else
      with_fetched(
          c,
          [&] {
            return both(p.s.get_values(c, p.sums.first_buf, p.sums.first, group),
                        p.s.get_values(c, p.sums.second_buf, p.sums.second, group));
          },
          [&](auto& given) { plain = Values::of(given.first), product = Values::of(given.second); });
    if (joins && part == 0)
      p.add_gradients(
          c, group, [&](i64 q) { return plain[q]; }, [&](i64 q) { return product[q]; });
    p.apply(c, group, pieces, normal, Values::made([&](i64 q) { return p.share * plain[q]; }),
            Values::made([&](i64 q) { return p.share * product[q]; }));
  }
  /// Leaves the part's two sums.
  template <class C>
  CORTADO_FN void measure_part(C& c, i64 group, i64 part, Range pieces, const Normal& normal) const {
    const NormaliseBackward& p = *this;
    if constexpr (block == 1) {
      PieceSums<1, int> sums{};
      p.measure(c, group, pieces, normal, sums, nullptr);
      sums.leave(c, p.parts, group, part);
    } else {
      float* const place = p.parts.place(group, part);
      auto sums = p.sums.sums_at(c, place);
      p.measure(c, group, pieces, normal, sums, place + 2 * block);
      sums.put(c);
    }
  }

  template <class C, class Plain, class Product>
  CORTADO_FN void add_gradients(C& c, i64 group, Plain plain, Product product) const {
    const NormaliseBackward& p = *this;
    if (p.bias_diff)
      p.s.change(c, p.bias_diff_buf, p.bias_diff, group, [&](i64 q, auto old) { return old + plain(q); });
    if (p.scale_diff)
      p.s.change(c, p.scale_diff_buf, p.scale_diff, group, [&](i64 q, auto old) { return old + product(q); });
  }

  template <class C, class Sums>
  CORTADO_FN void measure(C& c, i64 group, Range pieces, const Normal& normal, Sums& sums, float* room) const {
    const NormaliseBackward& p = *this;
    const Normal g = normal;
    sums.clear(c);
    p.rectify.with_gradient([&](const auto rectify) {
      p.sums.with_parts(c, p.s, room, [&](auto& parts) {
        c.pipeline(
            pieces.count(), Depth::two, [&](i64 i) { return p.piece(c, group, pieces.first + i); },
            named([&](i64 i, auto x, auto dy) {
              sums.add(c, parts, p.s, pieces.first + i, [&](i64 r, i64 q) {
                const auto n = g.of(x(r, q), q);
                const auto gated = g.gate(rectify, n, dy(r, q), q);
                return TwoSums<decltype(gated * n)>{gated, gated * n};
              });
            }));
      });
    });
    sums.join(c);
  }

  template <class C>
  CORTADO_FN void apply(C& c, i64 group, Range pieces, const Normal& normal, const Values& plain,
                        const Values& product) const {
    const NormaliseBackward& p = *this;
    const Normal g = normal;
    const Values factor = Values::made([&](i64 q) { return g.scale[q] * g.inverse[q]; });
    p.rectify.with_gradient([&](const auto rectify) {
      c.pipeline(
          pieces.count(), Depth::two, [&](i64 i) { return p.piece(c, group, pieces.first + i); },
          named([&](i64 at, auto x, auto dy) {
            const i64 i = pieces.first + at;
            auto dx = p.s.out(c, p.dx_buf, p.dx, group, i);
            p.s.each(c, i, [&](i64 r, i64 q) {
              const auto n = g.of(x(r, q), q);
              dx.set(r, q, (g.gate(rectify, n, dy(r, q), q) - plain[q] - n * product[q]) * factor[q]);
            });
            p.s.put(c, dx);
          }));
    });
  }
};

}  // namespace cortado
