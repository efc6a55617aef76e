#pragma once
#include "core/machine/view.h"

namespace cortado {

/// to[i] = from[index[i]] for rows of `width` values, 0 where the index is negative, plus `bias` (width values, may be
/// null).
struct GatherRows {
  static constexpr const char* label = "gather_rows";
  View<RowParts, const float> from, bias;
  View<RowValues, const int> index;
  Lines<float> to;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const GatherRows p = *this;
    each_line(c, p.index, [&](i64 i, auto& index) {
      const i64 first = p.to.cut.first(i), n = p.to.cut.count(i);
      const i64 row = static_cast<i64>(static_cast<int>(index[0]));
      const bool exists = row >= 0;
      const auto from = p.from.get(c, math::max(row, i64{0}), first, n);
      auto to = p.to.out(c, i);
      if (p.bias.array != nullptr) {
        const auto bias = p.bias.get(c, i64{0}, first, n);
        c.each(n, [&](i64 j) { to.set(j, math::select(exists, from[j], 0.0f) + bias[j]); });
      } else {
        c.each(n, [&](i64 j) { to.set(j, math::select(exists, from[j], 0.0f)); });
      }
      c.put(to);
    });
  }
};

/// The begin of each row's part of an array, and that of the next row's.
struct RowBounds : RowLines {
  CORTADO_FN static i64 most() { return 2; }
  CORTADO_FN LineAt where(i64 line) const { return {row(line), 2}; }
};

/// to[owner[k]] += the sum of from[rows[i]], i from start[k] to start[k + 1], for rows of `width` values: each row of
/// the result has one line that gathers what belongs to it.
struct SumRows {
  static constexpr const char* label = "sum_rows";
  View<RowValues, const int> owner;
  View<RowBounds, const int> start;
  Lines<const int> row;
  View<RowParts, const float> from;
  View<RowParts, float> to;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumRows p = *this;
    each_line(c, gather(p.owner, p.start), [&](i64 i, auto owners, auto starts) {
      const i64 at = p.owner.cut.first(i), n = p.owner.cut.count(i);
      const i64 owner = static_cast<i64>(static_cast<int>(owners[0]));
      const i64 first = static_cast<i64>(static_cast<int>(starts[0]));
      const i64 end = static_cast<i64>(static_cast<int>(starts[1]));
      auto to = p.to.update(c, owner, at, n);
      c.pipeline(
          end - first, Depth::one, [&](i64 r) { return p.row.get(c, first + r); },
          [&](i64, auto& row) {
            const auto from = p.from.get(c, static_cast<i64>(static_cast<int>(row[0])), at, n);
            c.each(n, [&](i64 j) { to.set(j, to.at(j) + from[j]); });
          });
      c.put(to);
    });
  }
};

}  // namespace cortado
