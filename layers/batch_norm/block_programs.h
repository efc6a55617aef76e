#pragma once
#include "core/machine/math.h"
#include "layers/batch_norm/running_sums.h"
#include "layers/channels/block_programs.h"

namespace cortado {

/// NormaliseForward of an array in blocks: a line is a group of sixteen channels.
template <class T>
struct NormaliseBlocksForward {
  static constexpr const char* label = "batch_norm_blocks_forward";
  BlockRows s;
  const T* x;
  const float *scale, *bias;
  const T* added;
  T* y;
  float *mean, *variance, *parts;  ///< parts: room for two values per channel
  const float* sums;  ///< [sum_parts][of values, of their squares][channels]: over parts of x, as its maker left them
  i64 sum_parts;      ///< 0: it left none
  RunningSums running;
  float eps, slope;
  bool measures, applies, moves;  ///< moves: the running sums too, with `applies`
  Buf x_buf, scale_buf, bias_buf, added_buf, y_buf, mean_buf, variance_buf, parts_buf, sums_buf, running_mean_buf,
      running_variance_buf, weight_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormaliseBlocksForward p = *this;
    c.lines(
        p.s.groups, Depth::one,
        [&](i64 group) {
          const i64 k = group * block_channels;
          return both(c.get(p.scale_buf, p.scale + k, block_channels), c.get(p.bias_buf, p.bias + k, block_channels));
        },
        [&](i64 group, auto& in) {
          const i64 k = group * block_channels;
          auto means = c.update(p.mean_buf, p.mean + k, block_channels);
          auto variances = c.update(p.variance_buf, p.variance + k, block_channels);
          if (p.measures && (p.sum_parts == 0 || !p.measure_from_sums(c, group, means, variances)))
            p.measure(c, group, means, variances);
          LaneValues mean{}, variance{};
          for (i64 lane = 0; lane < block_channels; ++lane)
            mean.v[lane] = means.at(lane), variance.v[lane] = variances.at(lane);
          c.put(means);
          c.put(variances);
          if (!p.applies) return;
          p.apply(c, group, mean, variance, LaneValues::of(in.first), LaneValues::of(in.second));
          if (p.moves) p.move(c, group, mean, variance);
        });
  }

 private:
  template <class C>
  CORTADO_FN auto piece(C& c, i64 group, i64 i) const {
    return s.get(c, x_buf, x, group, i);
  }

  /// From the sums that the array's maker left; false: a mean is more than four standard deviations from zero, and sums
  /// of squares lose digits.
  template <class C, class Sums>
  CORTADO_FN bool measure_from_sums(C& c, i64 group, Sums& means, Sums& variances) const {
    const NormaliseBlocksForward& p = *this;
    clear(c, means, variances);
    c.pipeline(
        p.sum_parts, Depth::two,
        [&](i64 i) { return part_sums(c, p.sums_buf, p.sums, p.s.groups * block_channels, i, group * block_channels); },
        [&](i64, auto& part) { add(c, part, means, variances); });
    divide(c, LaneValues{}, means, variances);
    bool is_near = true;
    for (i64 lane = 0; lane < block_channels; ++lane) {
      const float mean = means.at(lane), variance = variances.at(lane);
      is_near = is_near && mean * mean <= 16 * variance;
    }
    return is_near;
  }

  /// Sums of distances from a pivot and of their squares, in one pass. The pivot is the mean of the first of n pieces:
  /// variance is at least an nth of the square of its distance from the mean, so no more than n roundings are lost.
  template <class C, class Sums>
  CORTADO_FN void measure(C& c, i64 group, Sums& means, Sums& variances) const {
    const NormaliseBlocksForward& p = *this;
    auto parts = c.out2d(p.parts_buf, p.parts + group * 2 * block_channels, 2, block_channels, block_channels);
    LaneValues pivot{};
    clear(c, means, variances);
    c.pipeline(
        p.s.of_group(), Depth::two, [&](i64 i) { return p.piece(c, group, i); },
        [&](i64 i, auto& x) {
          if (i == 0) {
            clear_sums(c, parts);
            add_distances(c, x, p.s.width(0), pivot, parts);
            const float share = 1.0f / static_cast<float>(p.s.width(0));
            c.each(block_channels, [&](i64 lane) { pivot.v[lane] = parts.at(0, lane) * share; });
          }
          clear_sums(c, parts);
          add_distances(c, x, p.s.width(i), pivot, parts);
          add(
              c, [&](i64 r, i64 lane) { return parts.at(r, lane); }, means, variances);
        });
    divide(c, pivot, means, variances);
    c.put(parts);
  }

  template <class C, class Sums>
  CORTADO_FN void clear(C& c, Sums& means, Sums& variances) const {
    c.each(block_channels, [&](i64 lane) {
      means.set(lane, 0.0f);
      variances.set(lane, 0.0f);
    });
  }
  template <class C, class Part, class Sums>
  CORTADO_FN static void add(C& c, const Part& part, Sums& means, Sums& variances) {
    c.each(block_channels, [&](i64 lane) {
      means.set(lane, means.at(lane) + part(0, lane));
      variances.set(lane, variances.at(lane) + part(1, lane));
    });
  }
  /// Sums of distances from the pivot and of their squares to mean and variance.
  template <class C, class Sums>
  CORTADO_FN void divide(C& c, const LaneValues& pivot, Sums& means, Sums& variances) const {
    const float share = 1.0f / static_cast<float>(s.images * s.pixels);
    c.each(block_channels, [&](i64 lane) {
      const auto apart = means.at(lane) * share;
      means.set(lane, pivot[lane] + apart);
      variances.set(lane, math::max(0.0f, variances.at(lane) * share - apart * apart));
    });
  }

  template <class C>
  CORTADO_FN void apply(C& c, i64 group, const LaneValues& mean, const LaneValues& variance, const LaneValues& scale,
                        const LaneValues& bias) const {
    const NormaliseBlocksForward& p = *this;
    LaneValues factor{};
    for (i64 lane = 0; lane < block_channels; ++lane)
      factor.v[lane] = 1.0f / math::sqrt(variance[lane] + p.eps) * scale[lane];
    const float slope = p.slope;
    const auto write = [&](i64 i, auto x, auto plus) {
      const i64 pixels = p.s.width(i);
      auto y = c.out2d(p.y_buf, p.y + p.s.offset(group, i), pixels, block_channels, block_channels);
      c.each2d(pixels, block_channels, [&](i64 r, i64 lane) {
        const auto v = plus((x(r, lane) - mean[lane]) * factor[lane] + bias[lane], r, lane);
        y.set(r, lane, math::select(v > 0.0f, v, slope * v));
      });
      c.put(y);
    };
    if (p.added == nullptr)
      return c.pipeline(
          p.s.of_group(), Depth::two, [&](i64 i) { return p.piece(c, group, i); },
          [&](i64 i, auto& x) { write(i, x, [](auto v, i64, i64) { return v; }); });
    c.pipeline(
        p.s.of_group(), Depth::two,
        [&](i64 i) { return both(p.piece(c, group, i), p.s.get(c, p.added_buf, p.added, group, i)); },
        [&](i64 i, auto& in) { write(i, in.first, [&](auto v, i64 r, i64 lane) { return v + in.second(r, lane); }); });
  }

  template <class C>
  CORTADO_FN void move(C& c, i64 group, const LaneValues& mean, const LaneValues& variance) const {
    const RunningSums& r = running;
    const i64 k = group * block_channels;
    auto means = c.update(running_mean_buf, r.mean + k, block_channels);
    auto variances = c.update(running_variance_buf, r.variance + k, block_channels);
    c.each(block_channels, [&](i64 lane) {
      means.set(lane, mean[lane] + r.fraction * means.at(lane));
      variances.set(lane, r.unbias * variance[lane] + r.fraction * variances.at(lane));
    });
    c.put(means);
    c.put(variances);
    if (group > 0) return;
    auto weight = c.update(weight_buf, r.weight, 1);
    c.once([&] { weight.set(0, 1.0f + r.fraction * weight.at(0)); });
    c.put(weight);
  }
};

/// NormaliseBackward of an array in blocks: a line is a group of sixteen channels.
template <class T>
struct NormaliseBlocksBackward {
  static constexpr const char* label = "batch_norm_blocks_backward";
  BlockRows s;
  const T *x, *dy;
  T* dx;
  const float *mean, *variance, *scale, *bias;
  float *plain, *product, *bias_diff, *scale_diff, *parts;  ///< parts: room for two values per channel
  float eps, slope, share;
  bool measures, applies;
  Buf x_buf, dy_buf, dx_buf, mean_buf, variance_buf, scale_buf, bias_buf, plain_buf, product_buf, bias_diff_buf,
      scale_diff_buf, parts_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormaliseBlocksBackward p = *this;
    const auto values = [&](Buf buf, const float* from, i64 group) {
      return c.get(buf, from + group * block_channels, block_channels);
    };
    c.lines(
        p.s.groups, Depth::one,
        [&](i64 group) {
          return both(both(values(p.mean_buf, p.mean, group), values(p.variance_buf, p.variance, group)),
                      both(values(p.scale_buf, p.scale, group), values(p.bias_buf, p.bias, group)));
        },
        [&](i64 group, auto& in) {
          const i64 k = group * block_channels;
          Group g{LaneValues::of(in.first.first), LaneValues::of(in.first.second), LaneValues::of(in.second.first),
                  LaneValues::of(in.second.second), p.slope};
          for (float& v : g.inverse.v) v = 1.0f / math::sqrt(v + p.eps);
          auto plain = c.update(p.plain_buf, p.plain + k, block_channels);
          auto product = c.update(p.product_buf, p.product + k, block_channels);
          if (p.measures) {
            p.measure(c, group, g, plain, product);
            if (p.bias_diff) p.add(c, p.bias_diff_buf, p.bias_diff + k, plain);
            if (p.scale_diff) p.add(c, p.scale_diff_buf, p.scale_diff + k, product);
          }
          LaneValues plains{}, products{};
          for (i64 lane = 0; lane < block_channels; ++lane)
            plains.v[lane] = p.share * plain.at(lane), products.v[lane] = p.share * product.at(lane);
          c.put(plain);
          c.put(product);
          if (p.applies) p.apply(c, group, g, plains, products);
        });
  }

 private:
  struct Group {
    LaneValues mean, inverse, scale, bias;
    float slope;
    template <class V>
    CORTADO_FN auto normal(V x, i64 lane) const {
      return (x - mean[lane]) * inverse[lane];
    }
    /// dy through the rectifier, at normalised value n.
    template <class V, class W>
    CORTADO_FN auto gate(V n, W dy, i64 lane) const {
      return math::select(n * scale[lane] + bias[lane] > 0.0f, dy, slope * dy);
    }
  };

  template <class C>
  CORTADO_FN auto piece(C& c, i64 group, i64 i) const {
    return both(s.get(c, x_buf, x, group, i), s.get(c, dy_buf, dy, group, i));
  }

  /// A piece is summed up by itself first.
  template <class C, class Sums>
  CORTADO_FN void measure(C& c, i64 group, const Group& of_group, Sums& plain, Sums& product) const {
    const NormaliseBlocksBackward& p = *this;
    const Group g = of_group;
    auto parts = c.out2d(p.parts_buf, p.parts + group * 2 * block_channels, 2, block_channels, block_channels);
    c.each(block_channels, [&](i64 lane) {
      plain.set(lane, 0.0f);
      product.set(lane, 0.0f);
    });
    c.pipeline(
        p.s.of_group(), Depth::two, [&](i64 i) { return p.piece(c, group, i); },
        [&](i64 i, auto& in) {
          const auto x = in.first, dy = in.second;
          clear_sums(c, parts);
          using V = decltype(dy(0, 0) * x(0, 0));
          add_pixels(
              c, p.s.width(i),
              [&](i64 pixel, i64 lane) {
                const auto n = g.normal(x(pixel, lane), lane);
                const auto gated = g.gate(n, dy(pixel, lane), lane);
                return TwoSums<V>{gated, gated * n};
              },
              [&](i64 lane, const TwoSums<V>& sum) {
                parts.set(0, lane, parts.at(0, lane) + sum.plain);
                parts.set(1, lane, parts.at(1, lane) + sum.product);
              });
          c.each(block_channels, [&](i64 lane) {
            plain.set(lane, plain.at(lane) + parts.at(0, lane));
            product.set(lane, product.at(lane) + parts.at(1, lane));
          });
        });
    c.put(parts);
  }

  template <class C, class Sums>
  CORTADO_FN void add(C& c, Buf buf, float* to, const Sums& values) const {
    auto sums = c.update(buf, to, block_channels);
    c.each(block_channels, [&](i64 lane) { sums.set(lane, sums.at(lane) + values.at(lane)); });
    c.put(sums);
  }

  template <class C>
  CORTADO_FN void apply(C& c, i64 group, const Group& of_group, const LaneValues& plain,
                        const LaneValues& product) const {
    const NormaliseBlocksBackward& p = *this;
    const Group g = of_group;
    LaneValues factor{};
    for (i64 lane = 0; lane < block_channels; ++lane) factor.v[lane] = g.scale[lane] * g.inverse[lane];
    c.pipeline(
        p.s.of_group(), Depth::two, [&](i64 i) { return p.piece(c, group, i); },
        [&](i64 i, auto& in) {
          const auto x = in.first, dy = in.second;
          const i64 pixels = p.s.width(i);
          auto dx = c.out2d(p.dx_buf, p.dx + p.s.offset(group, i), pixels, block_channels, block_channels);
          c.each2d(pixels, block_channels, [&](i64 r, i64 lane) {
            const auto n = g.normal(x(r, lane), lane);
            dx.set(r, lane, (g.gate(n, dy(r, lane), lane) - plain[lane] - n * product[lane]) * factor[lane]);
          });
          c.put(dx);
        });
  }
};

}  // namespace cortado
