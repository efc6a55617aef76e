#pragma once
#include "core/machine/program.h"
#include "layers/convolution/set_or_add.h"

namespace cortado {

/// Weights of groups, and those of convolutions that count `merged` groups as one. Rows are output channels:
///   groups: [oc][channels of a group][kernel]
///   merged: [oc][group within the merged one][channels of a group][kernel], zero but in the output channel's group
struct MergedGroups {
  i64 rows, outputs;  ///< output channels of all groups, and of one
  i64 width;          ///< weights of an output channel in its group
  i64 merged;

  CORTADO_FN i64 group(i64 row) const { return row / outputs % merged; }
  CORTADO_FN i64 floats() const { return rows * merged * width; }
  /// The place of an output channel's weights in a group of the merged one.
  CORTADO_FN i64 place(i64 row, i64 group) const { return (row * merged + group) * width; }
};

/// Weights as merged groups have them. A line is an output channel.
struct SpreadGroups {
  static constexpr const char* label = "spread_groups";
  MergedGroups at;
  const float* from;
  float* to;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SpreadGroups p = *this;
    const i64 width = p.at.width;
    const auto fetch = [&](i64 row) { return c.get(p.from_buf, p.from + row * width, width); };
    c.lines(p.at.rows, Depth::two, fetch, [&](i64 row, auto& weights) {
      const i64 all = p.at.merged * width, first = p.at.group(row) * width;
      auto q = c.out(p.to_buf, p.to + p.at.place(row, 0), all);
      c.each(Range{0, first}, [&](i64 i) { q.set(i, 0.0f); });
      c.each(Range{first, first + width}, [&](i64 i) { q.set(i, weights[i - first]); });
      c.each(Range{first + width, all}, [&](i64 i) { q.set(i, 0.0f); });
      c.put(q);
    });
  }
};

/// The gradient of weights, of what merged groups have. A line is an output channel.
struct GatherGroups {
  static constexpr const char* label = "gather_groups";
  MergedGroups at;
  const float* from;
  float* dw;
  bool sets;  ///< dw; else it is added to
  Buf from_buf;
  SetOrAdd to;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const GatherGroups p = *this;
    const i64 width = p.at.width;
    const auto fetch = [&](i64 row) { return c.get(p.from_buf, p.from + p.at.place(row, p.at.group(row)), width); };
    c.lines(p.at.rows, Depth::two, fetch, [&](i64 row, auto& merged) {
      p.to.leave(c, p.sets, p.dw + row * width, width, [&](i64 i) { return merged[i]; });
    });
  }
};

}  // namespace cortado
