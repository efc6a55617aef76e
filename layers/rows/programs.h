#pragma once
#include "core/machine/gather.h"
#include "core/machine/row_lines.h"

namespace cortado {

/// to[i] = from[index[i]] for rows of `width` values, 0 where the index is negative, plus `bias` (width values, may be
/// null).
struct GatherRows {
  static constexpr const char* label = "gather_rows";
  const float *from, *bias;
  const int* index;
  float* to;
  RowLines s;  ///< of `to`
  Buf from_buf, bias_buf, index_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const GatherRows p = *this;
    const auto fetch = [&](i64 i) { return c.get(p.index_buf, p.index + p.s.row(i), 1); };
    c.lines(p.s.lines(), Depth::two, fetch, [&](i64 i, auto& index) {
      const i64 first = p.s.first(i), n = p.s.count(i);
      const i64 row = static_cast<i64>(static_cast<int>(index[0]));
      const bool exists = row >= 0;
      const auto from = c.get(p.from_buf, p.from + math::max(row, i64{0}) * p.s.width + first, n);
      auto to = p.s.out(c, p.to_buf, p.to, i);
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
  RowLines s;  ///< of owners
  Buf owner_buf, start_buf, row_buf, from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumRows p = *this;
    const auto fetch = [&](i64 i) {
      return gather(c.get(p.owner_buf, p.owner + p.s.row(i), 1), c.get(p.start_buf, p.start + p.s.row(i), 2));
    };
    const auto work = named([&](i64 i, auto owners, auto starts) {
      const i64 at = p.s.first(i), n = p.s.count(i);
      const i64 owner = static_cast<i64>(static_cast<int>(owners[0]));
      const i64 first = static_cast<i64>(static_cast<int>(starts[0]));
      const i64 end = static_cast<i64>(static_cast<int>(starts[1]));
      auto to = c.update(p.to_buf, p.to + owner * p.s.width + at, n);
      c.pipeline(
          end - first, Depth::one, [&](i64 r) { return c.get(p.row_buf, p.row + first + r, 1); },
          [&](i64, auto& row) {
            const auto from =
                c.get(p.from_buf, p.from + static_cast<i64>(static_cast<int>(row[0])) * p.s.width + at, n);
            c.each(n, [&](i64 j) { to.set(j, to.at(j) + from[j]); });
          });
      c.put(to);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
  }
};

}  // namespace cortado
