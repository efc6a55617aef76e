#pragma once
#include "core/machine/rectify.h"
#include "layers/batch_norm/running_sums.h"
#include "layers/batch_norm/sums.h"

namespace cortado {

/// Batch normalisation with the Scale and the ReLU that may follow it: x becomes n = (x - mean) / sqrt(variance + eps),
/// that becomes v = scale n + bias (all per channel), plus what is `added` unless that is nullptr, and that
/// y = rectify(v). A line is a group of channels, so sums have one order and later passes over the channels find them
/// in a cache where there is one; groups may be cut into parts (ChannelParts). Measuring takes mean and (biased)
/// variance from x, which else are given. Applying writes y, which may be x.
template <i64 block, class T>
struct NormaliseForward {
  static constexpr const char* label = block == 1 ? "batch_norm_forward" : "batch_norm_blocks_forward";
  using Values = ChannelValues<block>;
  ChannelLines<block> s;
  const T* x;
  const float *scale, *bias;
  const T* added;
  T* y;
  SumPlaces moments;   ///< mean and variance
  ChannelParts parts;  ///< moments of parts of channels
  const float* sums;   ///< [sum_parts][of values, of their squares][channels]: over parts of x, as its maker left them
  i64 sum_parts;       ///< 0: it left none
  RunningSums running;
  float eps;
  Rectify rectify;
  NormalisePass pass;
  bool moves;  ///< the running sums too, where it applies
  Buf x_buf, scale_buf, bias_buf, added_buf, y_buf, sums_buf, running_mean_buf, running_variance_buf, weight_buf,
      pivots_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormaliseForward p = *this;
    c.lines(
        p.s.groups * p.parts.count, Depth::one,
        [&](i64 line) {
          const i64 group = line % p.s.groups;
          return gather(p.s.get_values(c, p.scale_buf, p.scale, group), p.s.get_values(c, p.bias_buf, p.bias, group));
        },
        named([&](i64 line, auto scales, auto biases) {
          const i64 group = line % p.s.groups, part = line / p.s.groups;
          const Range pieces = p.parts.pieces(part, p.s.of_group());
          if (p.parts.count > 1) return p.run_part(c, group, part, pieces, Values::of(scales), Values::of(biases));
          auto sums = p.moments.sums(c, p.s, group);
          if (p.pass != NormalisePass::apply && !p.measure_from_sums(c, group, sums))
            sums.settle_moments(c, p.s.of_channel(),
                                p.measure(c, group, pieces, sums, p.moments.template room<block>(group)));
          const Values mean = Values::made([&](i64 q) { return sums.first.at(q); }),
                       variance = Values::made([&](i64 q) { return sums.second.at(q); });
          sums.put(c);
          if (p.pass == NormalisePass::measure) return;
          p.apply(c, group, pieces, mean, variance, Values::of(scales), Values::of(biases));
          if (p.moves) p.move(c, group, mean, variance);
        }));
  }

 private:
  template <class C>
  CORTADO_FN auto piece(C& c, i64 group, i64 i) const {
    return s.get(c, x_buf, x, group, i);
  }

  /// One part of a group. Measuring leaves its moments. Applying joins those of all parts, which the first part's
  /// worker writes down.
  template <class C>
  CORTADO_FN void run_part(C& c, i64 group, i64 part, Range pieces, const Values& scale, const Values& bias) const {
    const NormaliseForward& p = *this;
    if (p.pass == NormalisePass::measure) return p.measure_part(c, group, part, pieces);
    const bool joins = p.parts.values != nullptr;
    Values mean{}, variance{};
    if (joins)
      with_fetched(
          c, [&] { return p.parts.get(c, group); }, [&](auto& line) { p.join_moments(c, line, mean, variance); });
    else
      with_fetched(
          c,
          [&] {
            return both(p.s.get_values(c, p.moments.first_buf, p.moments.first, group),
                        p.s.get_values(c, p.moments.second_buf, p.moments.second, group));
          },
          [&](auto& given) { mean = Values::of(given.first), variance = Values::of(given.second); });
    p.apply(c, group, pieces, mean, variance, scale, bias);
    if (part > 0) return;
    if (joins) {
      p.s.change(c, p.moments.first_buf, p.moments.first, group, [&](i64 q, auto) { return mean[q]; });
      p.s.change(c, p.moments.second_buf, p.moments.second, group, [&](i64 q, auto) { return variance[q]; });
    }
    if (p.moves) p.move(c, group, mean, variance);
  }
  /// Leaves the pivot of each channel, the distance of the part's mean from it, and the sum of squared distances from
  /// that mean.
  template <class C>
  CORTADO_FN void measure_part(C& c, i64 group, i64 part, Range pieces) const {
    const NormaliseForward& p = *this;
    const i64 values = p.values_in(pieces);
    if constexpr (block == 1) {
      PieceSums<1, int> sums{};
      const Values pivot = p.measure(c, group, pieces, sums, nullptr);
      sums.leave_moments(c, p.parts, group, part, values, pivot[0]);
    } else {
      float* const place = p.parts.place(group, part);
      auto sums = p.moments.sums_at(c, place);
      Values pivot{};
      if (p.measure_from_sums(c, group, sums)) {
        sums.leave_known_moments(c, values);
      } else {
        pivot = p.measure(c, group, pieces, sums, place + 3 * block);
        sums.leave_moments(c, values);
      }
      sums.put(c);
      auto pivots = c.out(p.pivots_buf, place + 2 * block, block);
      c.each(block, [&](i64 lane) { pivots.set(lane, pivot[lane]); });
      c.put(pivots);
    }
  }
  CORTADO_FN i64 values_in(Range pieces) const { return s.before(pieces.end) - s.before(pieces.first); }
  /// Mean and variance of a group's channels from what its parts have left.
  template <class C, class Line>
  CORTADO_FN void join_moments(C& c, const Line& line, Values& mean, Values& variance) const {
    const NormaliseForward& p = *this;
    const double all = static_cast<double>(s.of_channel());
    const auto share = [&](i64 q) { return static_cast<double>(p.values_in(p.parts.pieces(q, p.s.of_group()))) / all; };
    for (i64 lane = 0; lane < block; ++lane) {
      // In planes: pivot, distance, squares. In blocks: rows of distances, of squares, of pivots.
      const auto value = [&](i64 q, i64 in_planes, i64 in_blocks) {
        return static_cast<double>(line[p.parts.width * q + (block == 1 ? in_planes : in_blocks * block + lane)]);
      };
      const auto mean_of = [&](i64 q) { return value(q, 0, 2) + value(q, 1, 0); };
      const double of_all = parts.sum(c, [&](i64 q) { return share(q) * mean_of(q); });
      variance.v[lane] = static_cast<float>(parts.sum(c, [&](i64 q) {
        const double off = mean_of(q) - of_all;
        return value(q, 2, 1) / all + share(q) * off * off;
      }));
      mean.v[lane] = static_cast<float>(of_all);
    }
  }

  /// From the sums that the array's maker left; false: there are none, or a mean is more than four standard deviations
  /// from zero, and sums of squares lose digits.
  template <class C, class Sums>
  CORTADO_FN bool measure_from_sums(C& c, i64 group, Sums& moments) const {
    if constexpr (block == 1) {
      return false;
    } else {
      const NormaliseForward& p = *this;
      if (p.sum_parts == 0) return false;
      moments.clear(c);
      c.pipeline(
          p.sum_parts, Depth::two,
          [&](i64 i) { return part_sums(c, p.sums_buf, p.sums, p.s.channels(), i, group * block); },
          [&](i64, auto& part) { moments.add_part(c, part); });
      moments.settle_moments(c, p.s.of_channel(), Values{});
      const float far = c.fold(
          block, 0.0f, [](float a, float b) { return a + b; },
          [&](i64 q) {
            const float mean = moments.first.at(q), variance = moments.second.at(q);
            return mean * mean <= 16 * variance ? 0.0f : 1.0f;
          });
      return far == 0;
    }
  }

  /// Sums of distances from a pivot and of their squares, in one pass; returns the pivot, the mean of a first nth of
  /// the values: variance is at least an nth of the square of its distance from the mean, so no more than n roundings
  /// are lost. (Lanes of a team keep sums in double, and may take a small share.)
  template <class C, class Sums>
  CORTADO_FN Values measure(C& c, i64 group, Range pieces, Sums& moments, float* room) const {
    const NormaliseForward& p = *this;
    Values pivot{};
    moments.clear(c);
    p.moments.with_parts(c, p.s, room, [&](auto& parts) {
      c.pipeline(
          pieces.count(), Depth::two, [&](i64 i) { return p.piece(c, group, pieces.first + i); },
          [&](i64 i, auto& line) {
            const auto x = line;
            const auto distance = [&](i64 r, i64 q) {
              const auto apart = x(r, q) - pivot[q];
              return TwoSums<decltype(apart * apart)>{apart, apart * apart};
            };
            if (i == 0) pivot = moments.mean_of(c, parts, p.s, pieces.first, distance);
            moments.add(c, parts, p.s, pieces.first + i, distance);
          });
    });
    moments.join(c);
    return pivot;
  }

  template <class C>
  CORTADO_FN void apply(C& c, i64 group, Range pieces, const Values& mean, const Values& variance, const Values& scale,
                        const Values& bias) const {
    const NormaliseForward& p = *this;
    const Values inverse = Values::made([&](i64 q) { return 1.0f / math::sqrt(variance[q] + p.eps); }),
                 factor = Values::made([&](i64 q) { return inverse[q] * scale[q]; });
    const Rectify rectify = p.rectify;
    const auto write = [&](i64 at, auto x, auto plus) {
      const i64 i = pieces.first + at;
      auto y = p.s.out(c, p.y_buf, p.y, group, i);
      p.s.each(c, i, [&](i64 r, i64 q) {
        // The two roundings differ, and stay as they are for each layout: runs can be repeated bit by bit.
        const auto scaled = block == 1 ? (x(r, q) - mean[q]) * inverse[q] * scale[q] : (x(r, q) - mean[q]) * factor[q];
        const auto v = plus(scaled + bias[q], r, q);
        y.set(r, q, rectify(v));
      });
      p.s.put(c, y);
    };
    if (p.added == nullptr)
      return c.pipeline(
          pieces.count(), Depth::two, [&](i64 i) { return p.piece(c, group, pieces.first + i); },
          [&](i64 i, auto& x) { write(i, x, [](auto v, i64, i64) { return v; }); });
    c.pipeline(
        pieces.count(), Depth::two,
        [&](i64 i) {
          return gather(p.piece(c, group, pieces.first + i), p.s.get(c, p.added_buf, p.added, group, pieces.first + i));
        },
        named([&](i64 i, auto x, auto added) { write(i, x, [&](auto v, i64 r, i64 q) { return v + added(r, q); }); }));
  }

  template <class C>
  CORTADO_FN void move(C& c, i64 group, const Values& mean, const Values& variance) const {
    const RunningSums r = running;
    s.change(c, running_mean_buf, r.mean, group, [&](i64 q, auto old) { return mean[q] + r.fraction * old; });
    s.change(c, running_variance_buf, r.variance, group,
             [&](i64 q, auto old) { return r.unbias * variance[q] + r.fraction * old; });
    if (group > 0) return;
    auto weight = c.update(weight_buf, r.weight, 1);
    c.once([&] { weight.set(0, 1.0f + r.fraction * weight.at(0)); });
    c.put(weight);
  }
};

}  // namespace cortado
