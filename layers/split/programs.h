#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// sum = a + b, element by element; sum may be a.
template <class T>
struct AddPairs {
  static constexpr const char* label = "split_backward";
  const T *a, *b;
  T* sum;
  i64 n, block;
  Buf a_buf, b_buf, sum_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const AddPairs p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) {
              const i64 n = math::min(p.block, p.n - i * p.block);
              return both(c.get(p.a_buf, p.a + i * p.block, n), c.get(p.b_buf, p.b + i * p.block, n));
            },
            [&](i64 i, auto& in) {
              const auto a = in.first, b = in.second;
              auto sum = c.out(p.sum_buf, p.sum + i * p.block, a.n);
              c.each(a.n, [&](i64 j) { sum.set(j, a[j] + b[j]); });
              c.put(sum);
            });
  }
};

}  // namespace cortado
