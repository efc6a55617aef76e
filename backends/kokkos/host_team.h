#pragma once
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/kokkos/host_multiply.h"
#include "backends/kokkos/space.h"
#include "backends/kokkos/tiles.h"

namespace cortado::kokkos {

/// A worker of OpenMP: one thread, whose lanes are the elements of its vector registers. Lane loops are plain loops
/// that the compiler may vectorise (`ivdep`: lanes write different elements, so no order binds them).
class HostTeam {
 public:
  /// Bytes that staging and multiplying may read beyond a scratchpad's end: one vector register.
  static constexpr i64 slack = 64;

  HostTeam(const Grant& grant, i64 worker)
      : grant_(grant), worker_(worker), scratch_(grant.scratch + worker * grant.scratch_bytes) {}

  i64 worker() const { return worker_; }
  i64 workers() const { return grant_.workers; }
  char* scratch() const { return scratch_; }

  template <class F>
  void each(i64 n, const F& f) {
#pragma GCC ivdep
    for (i64 i = 0; i < n; ++i) f(i);
  }

  template <class F>
  void each2d(i64 rows, i64 cols, const F& f) {
    for (i64 r = 0; r < rows; ++r)
#pragma GCC ivdep
      for (i64 c = 0; c < cols; ++c) f(r, c);
  }

  /// Element i joins partial result i mod 64, the partial results join pairwise: several vector registers' worth of
  /// independent sums, in an order that n alone fixes.
  template <class T, class Op, class F>
  T fold(i64 n, T init, Op op, const F& f) {
    constexpr i64 width = 64;
    T result = init;
    i64 i = 0;
    if (n >= width) {
      T part[width];
      for (i64 j = 0; j < width; ++j) part[j] = f(j);
      for (i = width; i + width <= n; i += width)
#pragma GCC ivdep
        for (i64 j = 0; j < width; ++j) part[j] = op(part[j], T(f(i + j)));
      for (i64 half = width / 2; half > 0; half /= 2)
        for (i64 j = 0; j < half; ++j) part[j] = op(part[j], part[j + half]);
      result = op(result, part[0]);
    }
    for (; i < n; ++i) result = op(result, T(f(i)));
    return result;
  }

  template <class F>
  void once(const F& f) {
    f();
  }

  template <class Predicate, class Emit>
  i64 compact(i64 n, const Predicate& holds, const Emit& emit) {
    i64 slot = 0;
    for (i64 i = 0; i < n; ++i)
      if (holds(i)) emit(slot++, i);
    return slot;
  }

  void fail(int code, i64 index) { grant_.failure->remember(code, index, grant_.label); }

  template <class T>
  void stage(T* to, const Box<T>& box) {
    const i64 first = first_inside(box, 3), end = end_inside(box, 3);
    for (i64 i0 = 0; i0 < box.size[0]; ++i0)
      for (i64 i1 = 0; i1 < box.size[1]; ++i1)
        for (i64 i2 = 0; i2 < box.size[2]; ++i2, to += box.size[3]) {
          const bool inside = is_inside(box, 0, i0) && is_inside(box, 1, i1) && is_inside(box, 2, i2);
          if (!inside || first >= end) {
            std::fill(to, to + box.size[3], T(0));
            continue;
          }
          const T* const from = box.base + offset(box, 0, i0) + offset(box, 1, i1) + offset(box, 2, i2);
          stage_row(to, from + offset(box, 3, first), first, end, box.size[3], box.step[3] * box.pitch[3]);
        }
  }

  template <class T>
  void multiply(const Acc<T>& acc, const LeftOperand<T>& a, const RightOperand<T>& b, const Taps& taps) {
    if constexpr (std::is_same_v<T, float>)
      host_multiply(acc, a, b, taps);
    else
      multiply_by_lanes(*this, acc, a, b, taps);
  }

 private:
  template <class T>
  static i64 offset(const Box<T>& box, int d, i64 i) {
    return (box.origin[d] + box.step[d] * i) * box.pitch[d];
  }
  template <class T>
  static bool is_inside(const Box<T>& box, int d, i64 i) {
    const i64 x = box.origin[d] + box.step[d] * i;
    return x >= 0 && x < box.extent[d];
  }
  /// Box positions [first_inside, end_inside) of dimension d lie inside the extent.
  template <class T>
  static i64 first_inside(const Box<T>& box, int d) {
    const i64 before = std::max<i64>(0, -box.origin[d]);
    return (before + box.step[d] - 1) / box.step[d];
  }
  template <class T>
  static i64 end_inside(const Box<T>& box, int d) {
    const i64 room = std::max<i64>(0, box.extent[d] - box.origin[d]);
    return std::min(box.size[d], (room + box.step[d] - 1) / box.step[d]);
  }

  template <class T>
  static void stage_row(T* to, const T* from, i64 first, i64 end, i64 size, i64 stride) {
    std::fill(to, to + first, T(0));
    if (stride == 1)
      std::memcpy(to + first, from, static_cast<std::size_t>(end - first) * sizeof(T));
    else
      for (i64 i = first; i < end; ++i) to[i] = from[(i - first) * stride];
    std::fill(to + end, to + size, T(0));
  }

  const Grant& grant_;
  i64 worker_;
  char* scratch_;
};

}  // namespace cortado::kokkos
