#pragma once
#include "core/machine/program.h"

namespace cortado {

/// f(0) + ... + f(n - 1), in an order fixed by n.
template <class C, class F>
CORTADO_FN float sum_of(C& c, i64 n, F f) {
  return c.fold(
      n, 0.0f, [](float a, float b) { return a + b; }, f);
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

/// Lines 0..n-1 that fetch nothing, or fetch for themselves: work(i).
template <class C, class Work>
CORTADO_FN void each_line(C& c, i64 n, Work work) {
  c.lines(
      n, Depth::one, [](i64 i) { return i; }, [&](i64 i, i64&) { work(i); });
}

}  // namespace cortado
