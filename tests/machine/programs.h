#pragma once
#include "core/machine/gather.h"
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado::test {

// The one-bit code with error feedback (Seide, Fu, Droppo, Li, Yu: "1-bit stochastic gradient descent", 2014): each
// value is sent as its sign, each block of values with two means, and what the code loses is added to the next round's
// values. n values in blocks of `block`, a multiple of 32; the last block may be shorter.

/// residual += values; code = signs of it; scale[2 b], scale[2 b + 1] = means of block b's values >= 0 and < 0;
/// residual -= decoded code.
struct OneBitEncode {
  static constexpr const char* label = "one_bit_encode";
  const float* values;
  float* residual;
  std::uint32_t* code;
  float* scale;
  i64 n, block;
  Buf value_buf, residual_buf, code_buf, scale_buf;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const OneBitEncode p = *this;
    c.lines((p.n + p.block - 1) / p.block, p.depth,
            [&](i64 b) { return c.get(p.value_buf, p.values + b * p.block, math::min(p.block, p.n - b * p.block)); },
            [&](i64 b, auto& x) {
              auto e = c.update(p.residual_buf, p.residual + b * p.block, x.n);
              c.each(x.n, [&](i64 i) { e.set(i, e.at(i) + x[i]); });
              const auto add = [](auto left, auto right) { return left + right; };
              const auto sum = [&](auto term) { return c.fold(x.n, 0.0f, add, [&](i64 i) { return term(e.at(i)); }); };
              const auto count = sum([](auto v) { return math::select(v >= 0, 1.0f, 0.0f); });
              const auto upper = sum([](auto v) { return math::select(v >= 0, v, 0.0f); });
              const auto lower = sum([](auto v) { return math::select(v >= 0, 0.0f, v); });
              const auto above = upper / math::max(count, 1.0f);
              const auto below = lower / math::max(static_cast<float>(x.n) - count, 1.0f);
              auto q = c.out(p.code_buf, p.code + b * p.block / 32, (x.n + 31) / 32);
              c.each(q.n, [&](i64 w) {
                std::uint32_t word = 0;
                for (i64 i = 32 * w; i < math::min(x.n, 32 * w + 32); ++i)
                  word |= static_cast<std::uint32_t>(e.at(i) >= 0 ? 1 : 0) << (i % 32);
                q.set(w, word);
              });
              c.each(x.n, [&](i64 i) { e.set(i, e.at(i) - math::select(e.at(i) >= 0, above, below)); });
              auto s = c.out(p.scale_buf, p.scale + 2 * b, 2);
              c.once([&] {
                s.set(0, above);
                s.set(1, below);
              });
              c.put(e);
              c.put(q);
              c.put(s);
            });
  }
};

/// sum += decoded code.
struct OneBitDecode {
  static constexpr const char* label = "one_bit_decode";
  const std::uint32_t* code;
  const float* scale;
  float* sum;
  i64 n, block;
  Buf code_buf, scale_buf, sum_buf;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const OneBitDecode p = *this;
    c.lines((p.n + p.block - 1) / p.block, p.depth,
            [&](i64 b) {
              const i64 count = math::min(p.block, p.n - b * p.block);
              return gather(c.get(p.code_buf, p.code + b * p.block / 32, (count + 31) / 32),
                            c.get(p.scale_buf, p.scale + 2 * b, 2));
            },
            named([&](i64 b, auto code, auto scale) {
              auto y = c.update(p.sum_buf, p.sum + b * p.block, math::min(p.block, p.n - b * p.block));
              c.each(y.n, [&](i64 i) {
                const bool sign = (code[i / 32] >> (i % 32) & 1u) != 0;
                y.set(i, y.at(i) + math::select(sign, scale[0], scale[1]));
              });
              c.put(y);
            }));
  }
};

/// y = (2 a) (3 b), dense, of m x k and k x n on each CPE, whose parts of 2 a and 3 b are blocks of its own; the first
/// half of the terms before the others.
struct BlockProduct {
  static constexpr const char* label = "block_product";
  const float *a, *b;
  float* y;
  i64 m, n, k;
  Buf a_buf, b_buf, left_buf, right_buf, acc_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BlockProduct p = *this;
    const i64 rows = C::mesh_rows * p.m, terms = C::mesh_cols * p.k, cols = C::mesh_cols * p.n;
    c.tiles(1, [&](i64) {
      const auto x =
          c.stage(p.a_buf, Box<float>::matrix(p.a, rows, terms, terms, c.row() * p.m, c.col() * p.k, p.m, p.k));
      const auto w =
          c.stage(p.b_buf, Box<float>::matrix(p.b, terms, cols, cols, c.row() * p.k, c.col() * p.n, p.k, p.n));
      auto twice = c.template block<float>(p.left_buf, p.m, p.k),
           thrice = c.template block<float>(p.right_buf, p.k, p.n);
      c.each2d(p.m, p.k, [&](i64 r, i64 q) { twice.set(r, q, 2.0f * x(r, q)); });
      c.each2d(p.k, p.n, [&](i64 r, i64 q) { thrice.set(r, q, 3.0f * w(r, q)); });
      TileShape shape;
      shape.m = p.m, shape.n0 = p.n, shape.k = p.k;
      auto acc = c.template acc<float>(p.acc_buf, shape);
      auto left = c.left(twice, LeftView{p.k, 1});
      auto right = c.right(thrice, RightView{p.n});
      for (int t = 0; t < C::mesh_cols; ++t)
        for (const Range half : {Range{0, p.k / 2}, Range{p.k / 2, p.k}}) {
          if (half.count() == 0) continue;
          auto sums = c.rows(acc, 0, p.m, half.count());
          Taps taps;
          taps.a = half.first, taps.b = half.first * p.n;
          c.fma(sums, c.row_share(left, t), c.col_share(right, t), taps);
        }
      OutBox<float> to;
      to.base = p.y + c.row() * p.m * cols + c.col() * p.n;
      to.rows = p.m, to.limit0 = p.n, to.pitch_m = cols;
      to.reads_old = false;
      c.store(acc, to, [](auto value, auto, i64, i64) { return value; });
    });
  }
};

}  // namespace cortado::test
