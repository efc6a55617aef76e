#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// to[i] = from[index[i]] for rows of `width` values, 0 where the index is negative, plus `bias` (width values, may be
/// null).
struct GatherRows {
  static constexpr const char* label = "gather_rows";
  const float *from, *bias;
  const int* index;
  float* to;
  i64 rows, width, block;
  Buf from_buf, bias_buf, index_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const GatherRows p = *this;
    const i64 blocks = (p.width + p.block - 1) / p.block;
    c.lines(
        p.rows * blocks, Depth::two, [&](i64 i) { return c.get(p.index_buf, p.index + i / blocks, 1); },
        [&](i64 i, auto& index) {
          const i64 first = i % blocks * p.block, n = math::min(p.block, p.width - first);
          const i64 row = static_cast<i64>(static_cast<int>(index[0]));
          const bool exists = row >= 0;
          const auto from = c.get(p.from_buf, p.from + math::max(row, i64{0}) * p.width + first, n);
          auto to = c.out(p.to_buf, p.to + i / blocks * p.width + first, n);
          if (p.bias) {
            const auto bias = c.get(p.bias_buf, p.bias + first, n);
            c.each(n, [&](i64 j) { to.set(j, math::select(exists, from[j], 0.0f) + bias[j]); });
          } else {
            c.each(n, [&](i64 j) { to.set(j, math::select(exists, from[j], 0.0f)); });
          }
          c.put(to);
        });
  }
};

/// to[owner[k]] += the sum of from[rows[i]], i from start[k] to start[k + 1], for rows of `width` values: each row of
/// the result has one line that gathers what belongs to it.
struct SumRows {
  static constexpr const char* label = "sum_rows";
  const float* from;
  const int *owner, *start, *row;
  float* to;
  i64 owners, width, block;
  Buf owner_buf, start_buf, row_buf, from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumRows p = *this;
    const i64 blocks = (p.width + p.block - 1) / p.block;
    c.lines(
        p.owners * blocks, Depth::two,
        [&](i64 i) {
          return both(c.get(p.owner_buf, p.owner + i / blocks, 1), c.get(p.start_buf, p.start + i / blocks, 2));
        },
        [&](i64 i, auto& in) {
          const i64 at = i % blocks * p.block, n = math::min(p.block, p.width - at);
          const i64 owner = static_cast<i64>(static_cast<int>(in.first[0]));
          const i64 first = static_cast<i64>(static_cast<int>(in.second[0]));
          const i64 end = static_cast<i64>(static_cast<int>(in.second[1]));
          auto to = c.update(p.to_buf, p.to + owner * p.width + at, n);
          c.pipeline(
              end - first, Depth::one, [&](i64 r) { return c.get(p.row_buf, p.row + first + r, 1); },
              [&](i64, auto& row) {
                const auto from =
                    c.get(p.from_buf, p.from + static_cast<i64>(static_cast<int>(row[0])) * p.width + at, n);
                c.each(n, [&](i64 j) { to.set(j, to.at(j) + from[j]); });
              });
          c.put(to);
        });
  }
};

}  // namespace cortado
