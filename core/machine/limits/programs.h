#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/view.h"

namespace cortado {

/// Multiply-adds and nothing else: every lane keeps twelve independent chains of `rounds` of them, which is enough to
/// hide the latency of any processor's unit, and does so `repeats` times. Element i of y gets the sum of its chains,
/// so that none can be left out.
struct MultiplyAdds {
  static constexpr const char* label = "multiply_adds";
  static constexpr i64 chains = 12, rounds = 256;  // known to the compiler, or it would not make vectors of the lanes
  Lines<float> y;
  i64 repeats;
  float factor, term;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const float a = factor, b = term;
    const auto fetch = [&](i64 i) { return y.out(c, i); };
    c.lines(y.lines(), Depth::one, fetch, [&](i64, auto& line) {
      for (i64 repeat = 0; repeat < repeats; ++repeat)
        c.each(line.n, [&](i64 j) {
          auto v0 = static_cast<float>(static_cast<int>(j));  // 64-bit integers do not convert in AVX2
          auto v1 = v0 + 1, v2 = v0 + 2, v3 = v0 + 3, v4 = v0 + 4, v5 = v0 + 5, v6 = v0 + 6, v7 = v0 + 7, v8 = v0 + 8,
               v9 = v0 + 9, v10 = v0 + 10, v11 = v0 + 11;
          for (i64 r = 0; r < rounds; ++r) {
            v0 = v0 * a + b;
            v1 = v1 * a + b;
            v2 = v2 * a + b;
            v3 = v3 * a + b;
            v4 = v4 * a + b;
            v5 = v5 * a + b;
            v6 = v6 * a + b;
            v7 = v7 * a + b;
            v8 = v8 * a + b;
            v9 = v9 * a + b;
            v10 = v10 * a + b;
            v11 = v11 * a + b;
          }
          line.set(j, v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7 + v8 + v9 + v10 + v11);
        });
      c.put(line);
    });
  }
};

/// a + factor b, McCalpin's STREAM triad.
struct Triad {
  static constexpr const char* label = "triad";
  float factor;
  template <class V>
  CORTADO_FN auto operator()(V a, V b) const {
    return a + factor * b;
  }
};

}  // namespace cortado
