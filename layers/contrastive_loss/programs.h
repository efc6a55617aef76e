#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// squares[r] = sum of (a - b)^2 over row r of two arrays of `width` values a row.
struct SquaredDistances {
  static constexpr const char* label = "squared_distances";
  const float *a, *b;
  float* squares;
  i64 rows, width, block;
  Buf a_buf, b_buf, square_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SquaredDistances p = *this;
    c.lines(
        p.rows, Depth::one, [&](i64 r) { return r; },
        [&](i64 r, i64&) {
          double sum = 0;
          c.pipeline((p.width + p.block - 1) / p.block, Depth::two,
                     [&](i64 i) {
                       const i64 at = r * p.width + i * p.block, n = math::min(p.block, p.width - i * p.block);
                       return both(c.get(p.a_buf, p.a + at, n), c.get(p.b_buf, p.b + at, n));
                     },
                     [&](i64, auto& in) {
                       const auto a = in.first, b = in.second;
                       sum += c.fold(
                           a.n, 0.0f, [](float x, float y) { return x + y; },
                           [&](i64 j) { return (a[j] - b[j]) * (a[j] - b[j]); });
                     });
          auto square = c.out(p.square_buf, p.squares + r, 1);
          c.once([&] { square.set(0, static_cast<float>(sum)); });
          c.put(square);
        });
  }
};

/// to = weight factor[r] (a - b) for every row r; weight is the loss's own gradient, in cluster memory.
struct ScaledDifferences {
  static constexpr const char* label = "scaled_differences";
  const float *a, *b, *factor, *weight;
  float* to;
  float sign;
  i64 rows, width, block;
  Buf a_buf, b_buf, factor_buf, weight_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ScaledDifferences p = *this;
    const float scale = p.sign * c.keep(p.weight_buf, p.weight, 1)[0];
    const i64 blocks = (p.width + p.block - 1) / p.block;
    c.lines(
        p.rows * blocks, Depth::two,
        [&](i64 i) {
          const i64 first = i % blocks * p.block, at = i / blocks * p.width + first;
          const i64 n = math::min(p.block, p.width - first);
          return both(c.get(p.factor_buf, p.factor + i / blocks, 1),
                      both(c.get(p.a_buf, p.a + at, n), c.get(p.b_buf, p.b + at, n)));
        },
        [&](i64 i, auto& in) {
          const float by = scale * in.first[0];
          const auto a = in.second.first, b = in.second.second;
          auto to = c.out(p.to_buf, p.to + i / blocks * p.width + i % blocks * p.block, a.n);
          c.each(a.n, [&](i64 j) { to.set(j, by * (a[j] - b[j])); });
          c.put(to);
        });
  }
};

}  // namespace cortado
