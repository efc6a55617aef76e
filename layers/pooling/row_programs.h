#pragma once
#include <cfloat>

#include "core/base/random.h"
#include "core/machine/gather.h"
#include "layers/pooling/windows.h"

namespace cortado {

/// y = largest input under the window, mask = its index in the plane (the first of equal ones); -FLT_MAX and -1 for a
/// window that lies outside the plane.
struct MaxPoolForward : PoolForwardArrays<float> {
  static constexpr const char* label = "max_pool_forward";

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolShape s = shape;
    const auto fetch = [&](i64 i) { return get_windows(c, s, cut.part(i), in, x); };
    c.lines(cut.lines(), depth, fetch, [&](i64 i, auto& window) {
      const auto p = cut.part(i);
      const i64 at = (p.plane * s.oh + p.y) * s.ow + p.x, rows = i64{p.planes} * p.rows;
      auto best = c.out2d(out, y + at, rows, p.cols, s.ow);
      auto who = c.out2d(out_mask, mask + at, rows, p.cols, s.ow);
      c.each2d(rows, p.cols, [&](i64 r, i64 q) {
        best.set(r, q, -FLT_MAX);
        who.set(r, q, -1);
      });
      visit_windows(c, s, p, window, [&](i64 r, i64 q, bool inside, auto value, int index) {
        const auto old = best.at(r, q);
        const auto better = inside & (value > old);
        best.set(r, q, math::select(better, value, old));
        who.set(r, q, math::select(better, index, who.at(r, q)));
      });
      c.put(best);
      c.put(who);
    });
  }
};

/// dx = sum of dy over the windows whose largest input this is.
struct MaxPoolBackward : PoolBackwardArrays<float> {
  static constexpr const char* label = "max_pool_backward";

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolShape s = shape;
    const auto fetch = [&](i64 i) { return get_outputs<true>(c, cut.part(i)); };
    const auto work = named([&](i64 i, auto gradients, auto indexes) {
      const auto p = cut.part(i);
      const i64 rows = i64{p.planes} * p.rows;
      auto sum = c.out2d(out, dx + (p.plane * s.h + p.y) * s.w + p.x, rows, p.cols, s.w);
      c.each2d(rows, p.cols, [&](i64 r, i64 q) { sum.set(r, q, 0.0f); });
      visit_owners(c, s, p, [&](i64 r, i64 q, bool inside, int row, int col, int oy, int ox, int ky, int kx) {
        const int index = (oy * s.sh - s.ph + ky) * s.w + ox * s.sw - s.pw + kx;
        const auto old = sum.at(r, q);
        const auto mine = inside & (indexes(row, col) == index);
        sum.set(r, q, math::select(mine, old + gradients(row, col), old));
      });
      c.put(sum);
    });
    c.lines(cut.lines(), depth, fetch, work);
  }
};

/// y = sum of the inputs under the window / window_size; 0 for a window that lies outside the plane.
struct AveragePoolForward : PoolForwardArrays<float> {
  static constexpr const char* label = "average_pool_forward";

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolShape s = shape;
    const auto fetch = [&](i64 i) { return get_windows(c, s, cut.part(i), in, x); };
    c.lines(cut.lines(), depth, fetch, [&](i64 i, auto& window) {
      const auto p = cut.part(i);
      const i64 rows = i64{p.planes} * p.rows;
      auto sum = c.out2d(out, y + (p.plane * s.oh + p.y) * s.ow + p.x, rows, p.cols, s.ow);
      c.each2d(rows, p.cols, [&](i64 r, i64 q) { sum.set(r, q, 0.0f); });
      visit_windows(c, s, p, window, [&](i64 r, i64 q, bool inside, auto value, int) {
        const auto old = sum.at(r, q);
        sum.set(r, q, math::select(inside, old + value, old));
      });
      c.each2d(rows, p.cols, [&](i64 r, i64 q) {
        const int size = s.window_size(p.y + static_cast<int>(r) % p.rows, p.x + static_cast<int>(q));
        sum.set(r, q, sum.at(r, q) / static_cast<float>(math::select(size == 0, 1, size)));
      });
      c.put(sum);
    });
  }
};

/// Training: y is one input of the window, drawn with the probability that its share of the window's sum is, mask its
/// index in the plane (Zeiler and Fergus 2013, equation 4; MaxPoolBackward is its gradient). Testing: the mean that
/// this draws, y = sum of x^2 / sum of x (their equation 6). Inputs are not negative; where all are zero, so is y.
template <bool train>
struct StochasticPoolForward : PoolForwardArrays<float> {
  static constexpr const char* label = train ? "stochastic_pool_train" : "stochastic_pool_test";
  float* sums;  ///< room for one value per output
  std::uint64_t key;
  i64 first;  ///< number of output 0 in the random stream
  Buf out_sums;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolShape s = shape;
    const auto fetch = [&](i64 i) { return get_windows(c, s, cut.part(i), in, x); };
    c.lines(cut.lines(), depth, fetch, [&](i64 i, auto& window) {
      const auto p = cut.part(i);
      const i64 at = (p.plane * s.oh + p.y) * s.ow + p.x, rows = i64{p.planes} * p.rows;
      auto value = c.out2d(out, y + at, rows, p.cols, s.ow);
      auto sum = c.out2d(out_sums, sums + at, rows, p.cols, s.ow);
      c.each2d(rows, p.cols, [&](i64 r, i64 q) {
        value.set(r, q, 0.0f);
        sum.set(r, q, 0.0f);
      });
      visit_windows(c, s, p, window, [&](i64 r, i64 q, bool inside, auto v, int) {
        const auto here = math::select(inside, v, 0.0f);
        sum.set(r, q, sum.at(r, q) + here);
        value.set(r, q, value.at(r, q) + here * here);
      });
      if constexpr (train)
        draw(c, p, window, value, sum);
      else
        c.each2d(rows, p.cols, [&](i64 r, i64 q) {
          const auto total = sum.at(r, q);
          value.set(r, q, math::select(total == 0.0f, 0.0f, value.at(r, q) / total));
        });
      c.put(value);
      c.put(sum);
    });
  }

 private:
  /// The first input at which the running sum, added up in the same order, reaches a random share of the whole.
  template <class C, class Window, class Out>
  CORTADO_FN void draw(C& c, const PlaneCut::Part& p, const Window& window, Out& value, Out& sum) const {
    const PoolShape s = shape;
    const i64 at = (p.plane * s.oh + p.y) * s.ow + p.x, rows = i64{p.planes} * p.rows;
    const std::uint64_t stream = key;
    const i64 start = first + at, plane = i64{s.oh} * s.ow;
    auto who = c.out2d(out_mask, mask + at, rows, p.cols, s.ow);
    c.each2d(rows, p.cols, [&](i64 r, i64 q) {
      const i64 number = start + r / p.rows * plane + r % p.rows * s.ow + q;
      value.set(r, q, random_uniform(stream, static_cast<std::uint64_t>(number)) * sum.at(r, q));
      sum.set(r, q, 0.0f);
      who.set(r, q, -1);
    });
    visit_windows(c, s, p, window, [&](i64 r, i64 q, bool inside, auto v, int index) {
      const auto next = sum.at(r, q) + math::select(inside, v, 0.0f);
      const bool is_free = who.at(r, q) < 0, is_reached = next >= value.at(r, q);
      const bool drawn = inside & is_free & is_reached;
      sum.set(r, q, next);
      value.set(r, q, math::select(drawn, v, value.at(r, q)));
      who.set(r, q, math::select(drawn, index, who.at(r, q)));
    });
    c.put(who);
  }
};

/// dx = sum of dy / window_size over the windows that hold this input.
struct AveragePoolBackward : PoolBackwardArrays<float> {
  static constexpr const char* label = "average_pool_backward";

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolShape s = shape;
    const auto fetch = [&](i64 i) { return get_outputs<false>(c, cut.part(i)); };
    const auto work = named([&](i64 i, auto from, int) {
      const auto p = cut.part(i);
      const i64 rows = i64{p.planes} * p.rows;
      auto sum = c.out2d(out, dx + (p.plane * s.h + p.y) * s.w + p.x, rows, p.cols, s.w);
      c.each2d(rows, p.cols, [&](i64 r, i64 q) { sum.set(r, q, 0.0f); });
      visit_owners(c, s, p, [&](i64 r, i64 q, bool inside, int row, int col, int oy, int ox, int ky, int kx) {
        const auto old = sum.at(r, q);
        const bool mine = inside & (ky < s.kh) & (kx < s.kw);
        const auto share = from(row, col) / static_cast<float>(s.window_size(oy, ox));
        sum.set(r, q, math::select(mine, old + share, old));
      });
      c.put(sum);
    });
    c.lines(cut.lines(), depth, fetch, work);
  }
};

}  // namespace cortado
