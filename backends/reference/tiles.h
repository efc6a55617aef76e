#pragma once
#include <algorithm>

#include "backends/reference/handles.h"

namespace cortado::reference {

/// The lowest and the highest of the offsets that sums of stride[d] i_d, i_d in [0, count[d]), reach.
struct Reach {
  i64 low = 0, high = 0;
  void add(i64 stride, i64 count) { (stride < 0 ? low : high) += stride * (count - 1); }
};

/// Stages a box into a slot: private, dense, zero outside the array.
template <class T>
void stage(Cpe& cpe, Slot& slot, const Box<T>& box) {
  i64 first[4], last[4];  // the elements of the array that the box meets in each dimension
  Reach reach;
  bool empty = false;
  for (int d = 0; d < 4; ++d) {
    const i64 a = box.origin[d], b = a + box.step[d] * (box.size[d] - 1);
    first[d] = std::max<i64>(0, std::min(a, b));
    last[d] = std::min(box.extent[d] - 1, std::max(a, b));
    empty = empty || box.size[d] == 0 || first[d] > last[d];
    if (empty) continue;
    const i64 x = box.pitch[d] * first[d], y = box.pitch[d] * last[d];
    reach.low += std::min(x, y);
    reach.high += std::max(x, y);
  }
  if (!empty)
    cpe.check_inside(reinterpret_cast<const char*>(box.base + reach.low),
                     reinterpret_cast<const char*>(box.base + reach.high + 1), sizeof(T), "the staged box", slot);
  T* to = reinterpret_cast<T*>(slot.data);
  slot.count = box.count();
  for (i64 flat = 0; flat < slot.count; ++flat, ++to) {
    i64 rest = flat, offset = 0;
    bool inside = true;
    for (int d = 3; d >= 0; --d) {
      const i64 x = box.origin[d] + box.step[d] * (rest % box.size[d]);
      rest /= box.size[d];
      inside = inside && x >= 0 && x < box.extent[d];
      offset += x * box.pitch[d];
    }
    *to = T(0);
    if (!inside) continue;
    cpe.touch_run(reinterpret_cast<const char*>(box.base + offset), sizeof(T), false, slot);
    std::memcpy(static_cast<void*>(to), cpe.at(box.base + offset), sizeof(T));
  }
}

/// Throws unless all that an operand's view reaches lies in its staged box.
inline void check_reach(const Cpe& cpe, const Slot& slot, const Reach& reach) {
  if (reach.low >= 0 && reach.high < slot.count) return;
  cpe.violation(slot, "fma reads elements " + std::to_string(reach.low) + " to " + std::to_string(reach.high) +
                          " of what it multiplies, which has " + std::to_string(slot.count));
}

/// Throws unless lanes have set what an operand of a block reads there.
inline void check_set(const Cpe& cpe, const Slot& slot, i64 at) {
  if (!slot.set.empty() && slot.set[static_cast<std::size_t>(at)] == 0)
    cpe.violation(slot, "fma reads element " + std::to_string(at) + ", which was not set");
}
template <class T>
void check_blocks(const Cpe& cpe, const LeftOperand<T>& a, const RightOperand<T>& b, const TileShape& s,
                  const Taps& taps) {
  if (a.slot->set.empty() && b.slot->set.empty()) return;
  for (i64 t = 0; t < taps.count1 * taps.count0; ++t) {
    const i64 t1 = t / taps.count0, t0 = t % taps.count0;
    for (i64 k = 0; k < s.k; ++k) {
      for (i64 m = 0; m < s.m; ++m)
        check_set(cpe, *a.slot, taps.a + m * a.view.m_stride + k * a.view.k_stride + taps.a1 * t1 + taps.a0 * t0);
      for (i64 n = 0; n < s.n(); ++n)
        check_set(cpe, *b.slot,
                  taps.b + k * b.view.k_stride + n / s.n0 / s.n1 * b.view.n2_stride +
                      n / s.n0 % s.n1 * b.view.n1_stride + n % s.n0 * b.view.n0_stride + taps.b1 * t1 + taps.b0 * t0);
    }
  }
}

template <class T>
void check_product(const Cpe& cpe, const Acc<T>& acc, const LeftOperand<T>& a, const RightOperand<T>& b,
                   const Taps& taps) {
  acc.check_live();
  a.check_live();
  b.check_live();
  const TileShape& s = acc.shape;
  if (s.k <= 0 || taps.count1 <= 0 || taps.count0 <= 0) return;
  Reach left{taps.a, taps.a}, right{taps.b, taps.b};
  left.add(a.view.m_stride, s.m);
  left.add(a.view.k_stride, s.k);
  left.add(taps.a1, taps.count1);
  left.add(taps.a0, taps.count0);
  right.add(b.view.k_stride, s.k);
  right.add(b.view.n2_stride, s.n2);
  right.add(b.view.n1_stride, s.n1);
  right.add(b.view.n0_stride, s.n0);
  right.add(taps.b1, taps.count1);
  right.add(taps.b0, taps.count0);
  check_reach(cpe, *a.slot, left);
  check_reach(cpe, *b.slot, right);
  check_blocks(cpe, a, b, s, taps);
}

/// y[0..n) += a * B row, over the three column dimensions.
template <class T>
void add_row(T* y, T a, const T* b, const TileShape& s, const RightView& view) {
  for (i64 n2 = 0; n2 < s.n2; ++n2)
    for (i64 n1 = 0; n1 < s.n1; ++n1, y += s.n0) {
      const T* const row = b + n2 * view.n2_stride + n1 * view.n1_stride;
      for (i64 n0 = 0; n0 < s.n0; ++n0) y[n0] += a * row[n0 * view.n0_stride];
    }
}

/// The multiply of core/machine/program.h; tap by tap, term by term.
template <class T>
void multiply(const Acc<T>& acc, const LeftOperand<T>& a, const RightOperand<T>& b, const Taps& taps) {
  const TileShape& s = acc.shape;
  const T* const left = reinterpret_cast<const T*>(a.slot->data);
  const T* const right = reinterpret_cast<const T*>(b.slot->data);
  T* const sum = acc.sums();
  for (i64 t1 = 0; t1 < taps.count1; ++t1)
    for (i64 t0 = 0; t0 < taps.count0; ++t0)
      for (i64 m = 0; m < s.m; ++m)
        for (i64 k = 0; k < s.k; ++k)
          add_row(sum + m * s.n(),
                  left[taps.a + m * a.view.m_stride + k * a.view.k_stride + taps.a1 * t1 + taps.a0 * t0],
                  right + taps.b + k * b.view.k_stride + taps.b1 * t1 + taps.b0 * t0, s, b.view);
}

/// The part of an accumulator inside a box's bounds.
template <class T>
TileShape inside(const TileShape& s, const OutBox<T>& box) {
  TileShape part;
  part.m = std::max<i64>(0, std::min(s.m, box.rows));
  part.n2 = std::max<i64>(0, std::min(s.n2, box.limit2));
  part.n1 = std::max<i64>(0, std::min(s.n1, box.limit1));
  part.n0 = std::max<i64>(0, std::min(s.n0, box.limit0));
  return part;
}

/// Throws unless the part lies in one allocation and nobody else touches it.
template <class T>
void check_store(Cpe& cpe, Slot& slot, const TileShape& part, const OutBox<T>& box) {
  if (part.m * part.n() == 0) return;
  Reach reach;
  reach.add(box.pitch_m, part.m);
  reach.add(box.pitch2, part.n2);
  reach.add(box.pitch1, part.n1);
  reach.add(box.pitch0, part.n0);
  cpe.check_inside(reinterpret_cast<const char*>(box.base + reach.low),
                   reinterpret_cast<const char*>(box.base + reach.high + 1), sizeof(T), "the stored box", slot);
  const i64 run = box.pitch0 == 1 ? part.n0 : 1;
  for (i64 r = 0; r < part.m * part.n2 * part.n1; ++r)
    for (i64 n0 = 0; n0 < part.n0; n0 += run) {
      const i64 m = r / (part.n2 * part.n1), n2 = r / part.n1 % part.n2, n1 = r % part.n1;
      const T* const p = box.base + m * box.pitch_m + n2 * box.pitch2 + n1 * box.pitch1 + n0 * box.pitch0;
      cpe.touch_run(reinterpret_cast<const char*>(p), run * static_cast<i64>(sizeof(T)), true, slot);
    }
}

}  // namespace cortado::reference
