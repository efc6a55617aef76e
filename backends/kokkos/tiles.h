#pragma once
#include "core/machine/program.h"

namespace cortado::kokkos {

/// The layout of a box that is not copied: its rows are as staged, but lie wherever the array has them.
struct Lattice {
  i64 size[4] = {};   ///< the box's; size[3] 0: it lies as staged as a whole
  i64 pitch[3] = {};  ///< from one of its rows, planes or volumes to the next, in the array

  CORTADO_FN bool is_dense() const { return size[3] == 0; }
  /// The place of the element at that offset of the staged box. It is also the distance of elements that are so far
  /// apart there, if that is less than a row, or whole rows, planes or volumes.
  CORTADO_FN i64 at(i64 offset) const {
    if (is_dense() || offset < size[3]) return offset;
    const i64 row = offset / size[3], plane = row / size[2];
    return offset % size[3] + row % size[2] * pitch[2] + plane % size[1] * pitch[1] + plane / size[1] * pitch[0];
  }
};

/// A box, staged or where it is.
template <class T>
struct Staged {
  const T* p;
  Lattice lattice;
};

/// A staged box and how it is read; see LeftView, RightView.
template <class T>
struct LeftOperand {
  const T* p;
  LeftView view;
  Lattice lattice = {};
};
template <class T>
struct RightOperand {
  const T* p;
  RightView view;
  Lattice lattice = {};
};

/// An accumulator in scratch, dense row-major m x n2 x n1 x n0.
template <class T>
struct Acc {
  T* p;
  TileShape shape;
  CORTADO_FN T operator()(i64 m, i64 n) const { return p[m * shape.n() + n]; }
};

/// Sums of nothing.
template <class Team, class T>
CORTADO_FN void clear(Team& team, const Acc<T>& acc) {
  T* const p = acc.p;
  team.each(acc.shape.m * acc.shape.n(), [&](i64 i) { p[i] = T(0); });
}

/// Element `flat` of a staged box, counted row-major over its size: the array's, or 0 outside its extent.
template <class T>
CORTADO_FN T box_element(const Box<T>& box, i64 flat) {
  i64 offset = 0;
  bool inside = true;
  for (int d = 3; d >= 0; --d) {
    const i64 x = box.origin[d] + box.step[d] * (flat % box.size[d]);
    flat /= box.size[d];
    inside = inside && x >= 0 && x < box.extent[d];
    offset += x * box.pitch[d];
  }
  return inside ? box.base[offset] : T(0);
}

/// The multiply of core/machine/program.h, one element of the accumulator per lane and turn.
template <class Team, class T>
CORTADO_FN void multiply_by_lanes(Team& team, const Acc<T>& acc, const LeftOperand<T>& a, const RightOperand<T>& b,
                                  const Taps& taps) {
  const TileShape& s = acc.shape;
  team.each2d(s.m, s.n(), [&](i64 m, i64 n) {
    const i64 n0 = n % s.n0, n1 = n / s.n0 % s.n1, n2 = n / s.n0 / s.n1;
    T sum = acc.p[m * s.n() + n];
    for (i64 t1 = 0; t1 < taps.count1; ++t1)
      for (i64 t0 = 0; t0 < taps.count0; ++t0) {
        const T* const pa = a.p + taps.a + m * a.view.m_stride + taps.a1 * t1 + taps.a0 * t0;
        const T* const pb = b.p + taps.b + n2 * b.view.n2_stride + n1 * b.view.n1_stride + n0 * b.view.n0_stride +
                            taps.b1 * t1 + taps.b0 * t0;
        for (i64 k = 0; k < s.k; ++k) sum += pa[k * a.view.k_stride] * pb[k * b.view.k_stride];
      }
    acc.p[m * s.n() + n] = sum;
  });
}

/// The store of core/machine/program.h, one element of the accumulator per lane and turn.
template <class Team, class T, class U, class F>
CORTADO_FN void store_by_lanes(Team& team, const Acc<T>& acc, const OutBox<U>& box, const F& f) {
  const auto smaller = [](i64 a, i64 b) { return a < b ? a : b; };
  const TileShape& s = acc.shape;
  const i64 rows = smaller(s.m, box.rows), n2 = smaller(s.n2, box.limit2), n1 = smaller(s.n1, box.limit1);
  if (rows <= 0 || n2 <= 0 || n1 <= 0) return;
  team.each2d(rows * n2 * n1, smaller(s.n0, box.limit0), [&](i64 r, i64 i0) {
    const i64 m = r / (n2 * n1), i2 = r / n1 % n2, i1 = r % n1;
    U& y = box.base[m * box.pitch_m + i2 * box.pitch2 + i1 * box.pitch1 + i0 * box.pitch0];
    const i64 n = (i2 * s.n1 + i1) * s.n0 + i0;
    y = f(acc.p[m * s.n() + n], y, m, n);
  });
}

}  // namespace cortado::kokkos
