#pragma once
#include "core/machine/sums.h"

namespace cortado {

/// The parts of a group's pieces that workers sum by themselves, where a machine has more workers than an array has
/// groups of channels. Each part leaves a few values, and a second program joins them.
struct ChannelParts {
  i64 count = 1;            ///< parts of a group; 1: groups are whole
  i64 width = 0;            ///< values that a part leaves, in blocks with room for its sums
  float* values = nullptr;  ///< [group][part][width]; nullptr: there is nothing to join
  Buf buf = {};

  /// Pieces of part `part` of the `all` of a group.
  CORTADO_FN Range pieces(i64 part, i64 all) const { return {all * part / count, all * (part + 1) / count}; }
  CORTADO_FN float* place(i64 group, i64 part) const { return values + (group * count + part) * width; }
  template <class C, class... V>
  CORTADO_FN void leave(C& c, i64 group, i64 part, V... left) const {
    put_values(c, buf, place(group, part), left...);
  }
  /// All that a group's parts have left.
  template <class C>
  CORTADO_FN auto get(C& c, i64 group) const {
    return c.get(buf, place(group, 0), count * width);
  }
  /// The sum of f(part) over a group's parts, in double.
  template <class C, class F>
  CORTADO_FN double sum(C& c, F f) const {
    return c.fold(
        count, 0.0, [](double a, double b) { return a + b; }, f);
  }
};

}  // namespace cortado
