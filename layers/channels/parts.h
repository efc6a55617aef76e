#pragma once
#include "core/machine/sums.h"

namespace cortado {

/// The parts of a channel's pieces that workers sum by themselves, where a device has more workers than an array in
/// planes has channels. Each part leaves a few values, and a second program joins them.
struct ChannelParts {
  i64 count = 1;            ///< parts of a channel; 1: channels are whole
  i64 width = 0;            ///< values that a part leaves
  float* values = nullptr;  ///< [channel][part][width]; nullptr: there is nothing to join
  Buf buf = {};

  /// Pieces of part `part` of the `all` of a channel.
  CORTADO_FN Range pieces(i64 part, i64 all) const { return {all * part / count, all * (part + 1) / count}; }
  template <class C, class... V>
  CORTADO_FN void leave(C& c, i64 channel, i64 part, V... left) const {
    put_values(c, buf, values + (channel * count + part) * width, left...);
  }
  /// All that a channel's parts have left.
  template <class C>
  CORTADO_FN auto get(C& c, i64 channel) const {
    return c.get(buf, values + channel * count * width, count * width);
  }
  /// The sum of f(part) over a channel's parts, in double.
  template <class C, class F>
  CORTADO_FN double sum(C& c, F f) const {
    return c.fold(
        count, 0.0, [](double a, double b) { return a + b; }, f);
  }
};

}  // namespace cortado
