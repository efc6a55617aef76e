#pragma once
#include "core/machine/integers.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/batch_norm/block_programs.h"
#include "layers/channels/programs.h"

namespace cortado {

/// Batch normalisation with the Scale and the ReLU that may follow it: x becomes n = (x - mean) / sqrt(variance + eps),
/// that becomes v = scale n + bias (all per channel), plus what is `added` where that is not null, and that y = v where
/// v > 0, slope v elsewhere. A line is a channel, so sums have one order and later passes over the channel find it in a
/// cache where there is one. `measures`: takes mean and (biased) variance from x, which else are given. `applies`:
/// writes y, which may be x.
template <class T>
struct NormaliseForward {
  static constexpr const char* label = "batch_norm_forward";
  ChannelRows s;
  const T* x;
  const float *scale, *bias;
  const T* added;
  T* y;
  float *mean, *variance;
  RunningSums running;
  float eps, slope;
  bool measures, applies, moves;  ///< moves: the running sums too, with `applies`
  Buf x_buf, scale_buf, bias_buf, added_buf, y_buf, mean_buf, variance_buf, running_mean_buf, running_variance_buf,
      weight_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormaliseForward p = *this;
    c.lines(
        p.s.channels, Depth::one,
        [&](i64 k) { return both(c.get(p.scale_buf, p.scale + k, 1), c.get(p.bias_buf, p.bias + k, 1)); },
        [&](i64 k, auto& in) {
          auto means = c.update(p.mean_buf, p.mean + k, 1);
          auto variances = c.update(p.variance_buf, p.variance + k, 1);
          float mean = means.at(0), variance = variances.at(0);
          if (p.measures) {
            p.measure(c, k, mean, variance);
            c.once([&] {
              means.set(0, mean);
              variances.set(0, variance);
            });
          }
          c.put(means);
          c.put(variances);
          if (!p.applies) return;
          p.apply(c, k, mean, 1.0f / math::sqrt(variance + p.eps), in.first[0], in.second[0]);
          if (p.moves) p.move(c, k, mean, variance);
        });
  }

 private:
  template <class C>
  CORTADO_FN auto block(C& c, Buf buf, const T* array, i64 k, i64 i) const {
    const i64 line = s.line_of(k, i);
    return c.get(buf, array + s.offset(line), s.width(line));
  }

  /// Sums of distances from a pivot and of their squares, in one pass. The pivot is the mean of the first of n blocks:
  /// variance is at least an nth of the square of its distance from the mean, so no more than n roundings are lost.
  template <class C>
  CORTADO_FN void measure(C& c, i64 k, float& mean, float& variance) const {
    const NormaliseForward& p = *this;
    const auto add = [](float a, float b) { return a + b; };
    float pivot = 0;
    double sum = 0, squares = 0;
    c.pipeline(
        p.s.outer * p.s.blocks(), Depth::two, [&](i64 i) { return p.block(c, p.x_buf, p.x, k, i); },
        [&](i64 i, auto& line) {
          const auto x = line;
          if (i == 0) pivot = c.fold(x.n, 0.0f, add, [&](i64 j) { return x[j]; }) / static_cast<float>(x.n);
          const float from = pivot;
          sum += c.fold(x.n, 0.0f, add, [&](i64 j) { return x[j] - from; });
          squares += c.fold(x.n, 0.0f, add, [&](i64 j) { return (x[j] - from) * (x[j] - from); });
        });
    const double n = static_cast<double>(p.s.outer * p.s.inner), apart = sum / n;
    mean = static_cast<float>(pivot + apart);
    variance = static_cast<float>(math::max(0.0, squares / n - apart * apart));
  }

  template <class C>
  CORTADO_FN void apply(C& c, i64 k, float mean, float inverse, float scale, float bias) const {
    const NormaliseForward& p = *this;
    const float slope = p.slope;
    const auto write = [&](i64 i, auto x, auto plus) {
      auto y = c.out(p.y_buf, p.y + p.s.offset(p.s.line_of(k, i)), x.n);
      c.each(x.n, [&](i64 j) {
        const auto v = plus((x[j] - mean) * inverse * scale + bias, j);
        y.set(j, math::select(v > 0.0f, v, slope * v));
      });
      c.put(y);
    };
    if (p.added == nullptr)
      return c.pipeline(
          p.s.outer * p.s.blocks(), Depth::two, [&](i64 i) { return p.block(c, p.x_buf, p.x, k, i); },
          [&](i64 i, auto& x) { write(i, x, [](auto v, i64) { return v; }); });
    c.pipeline(
        p.s.outer * p.s.blocks(), Depth::two,
        [&](i64 i) { return both(p.block(c, p.x_buf, p.x, k, i), p.block(c, p.added_buf, p.added, k, i)); },
        [&](i64 i, auto& in) { write(i, in.first, [&](auto v, i64 j) { return v + in.second[j]; }); });
  }

  template <class C>
  CORTADO_FN void move(C& c, i64 k, float mean, float variance) const {
    const RunningSums& r = running;
    auto means = c.update(running_mean_buf, r.mean + k, 1);
    auto variances = c.update(running_variance_buf, r.variance + k, 1);
    c.once([&] {
      means.set(0, mean + r.fraction * means.at(0));
      variances.set(0, r.unbias * variance + r.fraction * variances.at(0));
    });
    c.put(means);
    c.put(variances);
    if (k > 0) return;
    auto weight = c.update(weight_buf, r.weight, 1);
    c.once([&] { weight.set(0, 1.0f + r.fraction * weight.at(0)); });
    c.put(weight);
  }
};

/// The gradient of NormaliseForward. With g = dy where v > 0, slope dy elsewhere:
/// `measures`: plain = sum g and product = sum g n of each channel, which are also added to the gradients of bias and
/// scale where those are not null. `applies`: dx = (g - share (plain + n product)) scale / sqrt(variance + eps); dx may
/// be dy. A line is a channel.
template <class T>
struct NormaliseBackward {
  static constexpr const char* label = "batch_norm_backward";
  ChannelRows s;
  const T *x, *dy;
  T* dx;
  const float *mean, *variance, *scale, *bias;
  float *plain, *product, *bias_diff, *scale_diff;
  float eps, slope, share;
  bool measures, applies;
  Buf x_buf, dy_buf, dx_buf, mean_buf, variance_buf, scale_buf, bias_buf, plain_buf, product_buf, bias_diff_buf,
      scale_diff_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormaliseBackward p = *this;
    c.lines(
        p.s.channels, Depth::one,
        [&](i64 k) {
          return both(both(c.get(p.mean_buf, p.mean + k, 1), c.get(p.variance_buf, p.variance + k, 1)),
                      both(c.get(p.scale_buf, p.scale + k, 1), c.get(p.bias_buf, p.bias + k, 1)));
        },
        [&](i64 k, auto& in) {
          const Channel channel{in.first.first[0], 1.0f / math::sqrt(in.first.second[0] + p.eps), in.second.first[0],
                                in.second.second[0], p.slope};
          auto plains = c.update(p.plain_buf, p.plain + k, 1);
          auto products = c.update(p.product_buf, p.product + k, 1);
          float plain = plains.at(0), product = products.at(0);
          if (p.measures) {
            p.measure(c, k, channel, plain, product);
            c.once([&] {
              plains.set(0, plain);
              products.set(0, product);
            });
            if (p.bias_diff) p.add(c, p.bias_diff_buf, p.bias_diff + k, plain);
            if (p.scale_diff) p.add(c, p.scale_diff_buf, p.scale_diff + k, product);
          }
          c.put(plains);
          c.put(products);
          if (p.applies) p.apply(c, k, channel, p.share * plain, p.share * product);
        });
  }

 private:
  struct Channel {
    float mean, inverse, scale, bias, slope;
    template <class V>
    CORTADO_FN auto normal(V x) const {
      return (x - mean) * inverse;
    }
    /// dy through the rectifier, at normalised value n.
    template <class V, class W>
    CORTADO_FN auto gate(V n, W dy) const {
      return math::select(n * scale + bias > 0.0f, dy, slope * dy);
    }
  };

  template <class C>
  CORTADO_FN auto block(C& c, i64 k, i64 i) const {
    const i64 line = s.line_of(k, i), at = s.offset(line), n = s.width(line);
    return both(c.get(x_buf, x + at, n), c.get(dy_buf, dy + at, n));
  }

  template <class C>
  CORTADO_FN void measure(C& c, i64 k, const Channel& channel, float& plain, float& product) const {
    const NormaliseBackward& p = *this;
    double plains = 0, products = 0;
    const auto add = [](float a, float b) { return a + b; };
    c.pipeline(
        p.s.outer * p.s.blocks(), Depth::two, [&](i64 i) { return p.block(c, k, i); },
        [&](i64, auto& in) {
          const auto x = in.first, dy = in.second;
          const Channel ch = channel;
          plains += c.fold(x.n, 0.0f, add, [&](i64 j) { return ch.gate(ch.normal(x[j]), dy[j]); });
          products += c.fold(x.n, 0.0f, add, [&](i64 j) {
            const auto n = ch.normal(x[j]);
            return ch.gate(n, dy[j]) * n;
          });
        });
    plain = static_cast<float>(plains);
    product = static_cast<float>(products);
  }

  template <class C>
  CORTADO_FN void add(C& c, Buf buf, float* to, float value) const {
    auto sum = c.update(buf, to, 1);
    c.once([&] { sum.set(0, sum.at(0) + value); });
    c.put(sum);
  }

  template <class C>
  CORTADO_FN void apply(C& c, i64 k, const Channel& channel, float plain, float product) const {
    const NormaliseBackward& p = *this;
    c.pipeline(
        p.s.outer * p.s.blocks(), Depth::two, [&](i64 i) { return p.block(c, k, i); },
        [&](i64 i, auto& in) {
          const auto x = in.first, dy = in.second;
          const Channel ch = channel;
          const float factor = ch.scale * ch.inverse;
          auto dx = c.out(p.dx_buf, p.dx + p.s.offset(p.s.line_of(k, i)), x.n);
          c.each(x.n, [&](i64 j) {
            const auto n = ch.normal(x[j]);
            dx.set(j, (ch.gate(n, dy[j]) - plain - n * product) * factor);
          });
          c.put(dx);
        });
  }
};

/// Mean and variance from the running sums, which are to be divided by `weight` (0: they are 0). Lines are blocks of
/// channels.
struct UseRunningStatistics {
  static constexpr const char* label = "batch_norm_running_statistics";
  const float *running_mean, *running_variance, *weight;
  float *mean, *variance;
  i64 channels, block;
  Buf running_mean_buf, running_variance_buf, weight_buf, mean_buf, variance_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const UseRunningStatistics p = *this;
    c.lines(
        ceil_div(p.channels, p.block), Depth::one,
        [&](i64 i) {
          const i64 at = i * p.block, n = math::min(p.block, p.channels - at);
          return both(c.get(p.weight_buf, p.weight, 1),
                      both(c.get(p.running_mean_buf, p.running_mean + at, n),
                           c.get(p.running_variance_buf, p.running_variance + at, n)));
        },
        [&](i64 i, auto& in) {
          const float weight = in.first[0];
          const float share = math::select(weight == 0.0f, 0.0f, 1.0f / math::select(weight == 0.0f, 1.0f, weight));
          const auto means = in.second.first, variances = in.second.second;
          auto mean = c.out(p.mean_buf, p.mean + i * p.block, means.n);
          auto variance = c.out(p.variance_buf, p.variance + i * p.block, means.n);
          c.each(means.n, [&](i64 k) {
            mean.set(k, means[k] * share);
            variance.set(k, variances[k] * share);
          });
          c.put(mean);
          c.put(variance);
        });
  }
};

}  // namespace cortado
