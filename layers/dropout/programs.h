#pragma once
#include "core/base/random.h"
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// y = x scale where element (first + i) of the random stream is kept, 0 elsewhere: forward on values and backward on
/// gradients alike, because the mask is a function of the element's number. y may be x. T: float or bf16.
template <class T>
struct Dropout {
  static constexpr const char* label = "dropout";
  const T* x;
  T* y;
  std::uint64_t key;
  i64 first;  ///< number of element 0 in the stream
  float ratio, scale;
  i64 n, block;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Dropout p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) { return c.get(p.x_buf, p.x + i * p.block, math::min(p.block, p.n - i * p.block)); },
            [&](i64 i, auto& x) {
              const std::uint64_t key = p.key;
              const i64 first = p.first + i * p.block;
              const float ratio = p.ratio, scale = p.scale;
              auto y = c.out(p.y_buf, p.y + i * p.block, x.n);
              c.each(x.n, [&](i64 j) {
                const bool keep = random_uniform(key, static_cast<std::uint64_t>(first + j)) >= ratio;
                y.set(j, math::select(keep, x[j] * scale, 0.0f));
              });
              c.put(y);
            });
  }
};

}  // namespace cortado
