#pragma once
#include "core/base/layout.h"
#include "core/machine/gather.h"
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// Pixels of a block that follow each other: where the first one's sixteen channels begin in the array.
struct BlockRun {
  i64 place, pixels;
};

/// The other gradient of a blob with two readers, which one's gradient joins as it is made. Both pass the rectifier
/// that made the blob, `x`: where that is not positive they count `slope` times.
template <class T>
struct OtherGradient {
  const T* values;  ///< nullptr: there is none
  const T* x;
  float slope;
  Buf values_buf, x_buf;

  /// Joins `count` runs of pixels of a block: to[place] = value(i, pixel, lane) together with the other gradient.
  /// `run(i)` is the first pixel's place of run i in the arrays and the number of its pixels. `to` may be the other
  /// gradient.
  template <class C, class Run, class Value>
  CORTADO_FN void join(C& c, i64 count, Buf to_buf, T* to, const Run& run, const Value& value) const {
    const OtherGradient p = *this;
    c.pipeline(
        count, Depth::two,
        [&](i64 i) {
          const BlockRun at = run(i);
          return gather(c.get2d(p.values_buf, p.values + at.place, at.pixels, block_channels, block_channels),
                        c.get2d(p.x_buf, p.x + at.place, at.pixels, block_channels, block_channels));
        },
        named([&](i64 i, const auto& other, const auto& x) {
          const BlockRun at = run(i);
          const float slope = p.slope;
          auto q = c.out2d(to_buf, to + at.place, at.pixels, block_channels, block_channels);
          c.each2d(at.pixels, block_channels, [&](i64 r, i64 lane) {
            const auto v = value(i, r, lane) + other(r, lane);
            q.set(r, lane, math::select(x(r, lane) > 0.0f, v, slope * v));
          });
          c.put(q);
        }));
  }
};

}  // namespace cortado
