#pragma once
#include <type_traits>

#include "core/machine/program.h"

namespace cortado {

/// f(0) + ... + f(n - 1), in an order fixed by n.
template <class C, class F>
CORTADO_FN float sum_of(C& c, i64 n, F f) {
  return c.fold(
      n, 0.0f, [](float a, float b) { return a + b; }, f);
}

template <class C, class = void>
struct OwnLanes {
  static constexpr i64 count = 0;
};
template <class C>
struct OwnLanes<C, std::enable_if_t<(C::own_lanes > 0)>> {
  static constexpr i64 count = C::own_lanes;
};
/// True where every lane of a team runs the program, so that a variable is one for each lane. Sums over many pieces can
/// then stay with the lanes until join_lanes.
template <class C>
constexpr bool has_own_lanes = OwnLanes<C>::count > 0;

/// The sum of the lanes' own values, in a fixed order. Lanes that are one program have one value.
template <class C, class T>
CORTADO_FN T join_lanes(C& c, T own) {
  if constexpr (has_own_lanes<C>)
    return c.fold(
        OwnLanes<C>::count, T(0), [](T a, T b) { return a + b; }, [&](i64) { return own; });
  else
    return own;
}

/// Writes a few values that one lane knows, to[0], to[1], ...
template <class C, class T, class... V>
CORTADO_FN void put_values(C& c, Buf buf, T* to, V... values) {
  auto out = c.out(buf, to, sizeof...(V));
  c.once([&] {
    i64 i = 0;
    (out.set(i++, values), ...);
  });
  c.put(out);
}

/// work(in) with what fetch() brings, inside the work of a line.
template <class C, class Fetch, class Work>
CORTADO_FN void with_fetched(C& c, Fetch fetch, Work work) {
  c.pipeline(
      1, Depth::one, [&](i64) { return fetch(); }, [&](i64, auto& in) { work(in); });
}

/// Lines 0..n-1 that fetch nothing, or fetch for themselves: work(i).
template <class C, class Work>
CORTADO_FN void each_line(C& c, i64 n, Work work) {
  c.lines(
      n, Depth::one, [](i64 i) { return i; }, [&](i64 i, i64&) { work(i); });
}

}  // namespace cortado
