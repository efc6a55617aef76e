#pragma once
#include <utility>

#include "core/base/layout.h"
#include "core/machine/math.h"
#include "layers/convolution/depthwise/taps.h"

namespace cortado {

/// Sums rows of outputs, a few neighbours at a time.
template <bool forward, class In, class W, class To>
struct FewOutputs {
  static constexpr i64 columns = 4;  ///< neighbours
  using V = decltype(std::declval<In>()(0, 0, 0));

  const In& in;
  const W& weights;
  To& result;
  i64 width;                         ///< of a row of results
  i64 copies, copy_rows, copy_taps;  ///< how many; rows of what was staged, and taps, from one copy to the next
  i64 kernel_width;

  /// Columns first, first + apart, ... of one or two rows, which share their taps. `next` is from an output's values to
  /// the next one's.
  template <class C>
  CORTADO_FN void sum(C& c, i64 row, i64 rows, i64 first, i64 apart, const TapRun& down, const TapRun& across,
                      i64 next) const {
    const i64 outputs = (width - first + apart - 1) / apart;
    if (outputs < columns) {
      for (i64 r = 0; r < rows; ++r)
        for (i64 o = 0; o < outputs; ++o) {
          const TapPlaces at(down.moved(r), across.moved(o * next), kernel_width, next);
          sum_any<1>(c, at, (row + r) * width + first + o * apart, apart, down.count, across.count);
        }
      return;
    }
    for (i64 i = 0; i < outputs; i += columns) {
      const i64 o = math::min(i, outputs - columns);  // the last ones may be summed once more
      const TapPlaces at(down, across.moved(o * next), kernel_width, next);
      sum_few(c, at, row * width + first + o * apart, apart, rows, down, across);
    }
  }

 private:
  /// Sums by the program of a kernel that the compiler knows, or row by row by one for all.
  template <class C>
  CORTADO_FN void sum_few(C& c, const TapPlaces& at, i64 pixel, i64 apart, i64 rows, const TapRun& down,
                          const TapRun& across) const {
    const bool dense = down.is_dense() && across.is_dense(), three = dense && down.count == 3 && across.count == 3;
    if (three && at.next == 1 && rows == 2) return sum_known<2, 3, 3, 1>(c, at, pixel, apart);
    for (i64 r = 0; r < rows; ++r) {
      const TapPlaces there = at.moved(r);
      const i64 to = pixel + r * width;
      if (three && at.next == 1)
        sum_known<1, 3, 3, 1>(c, there, to, apart);
      else if (!dense || !sum_strided(c, there, to, apart, down.count, across.count))
        sum_any<columns>(c, there, to, apart, down.count, across.count);
    }
  }

  /// Sums for a kernel of 3 x 3 at strides of 2; false if it is another one.
  template <class C>
  CORTADO_FN bool sum_strided(C& c, const TapPlaces& at, i64 pixel, i64 apart, i64 down, i64 across) const {
    if constexpr (forward) {
      if (down != 3 || across != 3 || at.next != 2) return false;
      sum_known<1, 3, 3, 2>(c, at, pixel, apart);
    } else {
      if (down < 1 || down > 2 || across < 1 || across > 2) return false;
      switch (2 * down + across) {
        case 3: sum_known<1, 1, 1, 1>(c, at, pixel, apart); break;
        case 4: sum_known<1, 1, 2, 1>(c, at, pixel, apart); break;
        case 5: sum_known<1, 2, 1, 1>(c, at, pixel, apart); break;
        default: sum_known<1, 2, 2, 1>(c, at, pixel, apart);
      }
    }
    return true;
  }

  template <i64 rows, i64 down, i64 across, i64 next, class C>
  CORTADO_FN void sum_known(C& c, const TapPlaces& at, i64 pixel, i64 apart) const {
    const auto place = [&](i64 k) { return pixel + k / columns * width + k % columns * apart; };
    if (copies == 1) {
      add_taps<rows, columns, down, across, next>(
          c, at, [](i64, i64) { return V(0.0f); }, [&](i64 k, i64 lane, V sum) { result.set(place(k), lane, sum); });
      return;
    }
    V sums[rows * columns * block_channels];  // each lane's own
    clear<rows * columns>(c, sums);
    for (i64 i = 0; i < copies; ++i)
      add_to<rows, columns, down, across, next>(c, at.copy(i * copy_rows, i * copy_taps), sums);
    leave<rows * columns>(c, sums, place);
  }

  /// n outputs of a row, for any kernel.
  template <i64 n, class C>
  CORTADO_FN void sum_any(C& c, const TapPlaces& first, i64 pixel, i64 apart, i64 down, i64 across) const {
    V sums[n * block_channels];
    clear<n>(c, sums);
    for (i64 i = 0; i < copies; ++i)
      for (i64 a = 0; a < down; ++a)
        for (i64 b = 0; b < across; b += 3) {
          const TapPlaces at = first.copy(i * copy_rows, i * copy_taps).tap_at(a, b);
          const i64 count = math::min(across - b, i64{3});
          if (at.next == 1 && at.col_step == 1)
            add_row<n, 1>(c, at, count, sums);
          else
            add_row<n, 0>(c, at, count, sums);
        }
    leave<n>(c, sums, [&](i64 k) { return pixel + k * apart; });
  }
  template <i64 n, i64 next, class C>
  CORTADO_FN void add_row(C& c, const TapPlaces& at, i64 count, V* sums) const {
    switch (count) {
      case 1: add_to<1, n, 1, 1, next>(c, at, sums); break;
      case 2: add_to<1, n, 1, 2, next>(c, at, sums); break;
      default: add_to<1, n, 1, 3, next>(c, at, sums);
    }
  }

  template <i64 count, class C>
  CORTADO_FN static void clear(C& c, V* sums) {
    c.each(block_channels, [&](i64 lane) {
      CORTADO_UNROLL
      for (i64 k = 0; k < count; ++k) sums[k * block_channels + lane] = V(0.0f);
    });
  }
  template <i64 count, class C, class Place>
  CORTADO_FN void leave(C& c, const V* sums, const Place& place) const {
    c.each(block_channels, [&](i64 lane) {
      CORTADO_UNROLL
      for (i64 k = 0; k < count; ++k) result.set(place(k), lane, sums[k * block_channels + lane]);
    });
  }
  template <i64 rows, i64 n, i64 down, i64 across, i64 next, class C>
  CORTADO_FN void add_to(C& c, const TapPlaces& at, V* sums) const {
    add_taps<rows, n, down, across, next>(
        c, at, [&](i64 k, i64 lane) { return sums[k * block_channels + lane]; },
        [&](i64 k, i64 lane, V sum) { sums[k * block_channels + lane] = sum; });
  }

  /// Adds down x across taps to n outputs of each row: begin(output, lane) is the sum before, end(output, lane, sum)
  /// gets it. Values are neighbours, outputs `next` of them apart; a `next` of 0 leaves both to `at`.
  template <i64 rows, i64 n, i64 down, i64 across, i64 next, class C, class Begin, class End>
  CORTADO_FN void add_taps(C& c, const TapPlaces& at, const Begin& begin, const End& end) const {
    static_assert(next > 0 || (rows == 1 && down == 1), "rows are neighbours");
    c.each(block_channels, [&](i64 lane) {
      V sums[rows * n];
      CORTADO_UNROLL
      for (i64 k = 0; k < rows * n; ++k) sums[k] = begin(k, lane);
      CORTADO_UNROLL
      for (i64 a = 0; a < down + rows - 1; ++a) CORTADO_UNROLL
      for (i64 r = 0; r < rows; ++r)
        if (a >= r && a - r < down) {
          CORTADO_UNROLL
          for (i64 b = 0; b < across; ++b) {
            const auto weight = weights(at.tap + (a - r) * at.down + b * at.across, lane);
            CORTADO_UNROLL
            for (i64 j = 0; j < n; ++j) {
              const i64 col = next > 0 ? b + j * next : b * at.col_step + j * at.next;
              sums[r * n + j] = sums[r * n + j] + weight * in(at.row + a, at.col + col, lane);
            }
          }
        }
      CORTADO_UNROLL
      for (i64 k = 0; k < rows * n; ++k) end(k, lane, sums[k]);
    });
  }
};

}  // namespace cortado
