#pragma once
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/kokkos/host_fold.h"
#include "backends/kokkos/host_multiply.h"
#include "backends/kokkos/host_vector.h"
#include "backends/kokkos/space.h"
#include "backends/kokkos/tiles.h"

namespace cortado::kokkos {

/// A worker of OpenMP: one thread, whose lanes are the elements of its vector registers. Lane loops are plain loops
/// that the compiler may vectorise (`ivdep`: lanes write different elements, so no order binds them).
class HostTeam {
 public:
  /// Bytes that staging and multiplying may read beyond a scratchpad's end: one vector register.
  static constexpr i64 slack = 64;

  /// Fetching a line before the one ahead of it is worked on lets its memory arrive meanwhile.
  static constexpr bool looks_ahead = true;
  static constexpr i64 own_lanes = 0;
  /// The line will be read soon: its beginning starts coming; the processor goes on by itself.
  void announce(const void* p, i64 bytes) const {
    const char* const first = static_cast<const char*>(p);
    const i64 most = bytes < 4096 ? bytes : 4096;
    for (i64 at = 0; at < most; at += 64) __builtin_prefetch(first + at);
  }

  HostTeam(const Grant& grant, i64 worker)
      : grant_(grant), worker_(worker), scratch_(grant.scratch + worker * grant.scratch_bytes) {}

  i64 worker() const { return worker_; }
  i64 workers() const { return grant_.workers; }
  /// The items of 0..n-1 of the launch's next list that this worker works on.
  Share share(i64 n) {
    Taken* const taken = workers() > 1 && lists_ < shared_lists ? grant_.taken + lists_ * workers() : nullptr;
    ++lists_;
    return {taken, worker_, workers(), n};
  }
  char* scratch() const { return scratch_; }

  template <class F>
  void each(i64 n, const F& f) {
    if (__builtin_constant_p(n)) return each_of_few(n, f);
#pragma GCC ivdep
    for (i64 i = 0; i < n; ++i) f(i);
  }

  template <class F>
  void each2d(i64 rows, i64 cols, const F& f) {
    for (i64 r = 0; r < rows; ++r) each(cols, [&](i64 c) { f(r, c); });
  }

  /// Element i joins partial result i mod 64, the partial results join pairwise: several vector registers' worth of
  /// independent sums, in an order that n alone fixes. What is left goes likewise in sixteens, then one by one.
  template <class T, class Op, class F>
  T fold(i64 n, T init, Op op, const F& f) {
    T result = init;
    i64 i = 0;
    fold_blocks<64>(i, n, result, op, f);
    fold_blocks<16>(i, n, result, op, f);
    for (; i < n; ++i) result = op(result, T(f(i)));
    return result;
  }

  template <class F>
  void once(const F& f) {
    f();
  }

  void fail(int code, i64 index) { grant_.failure->remember(code, index, grant_.label); }

  /// The staged box: in `to`, or where it is if it lies there as it would be staged.
  template <class To, class T>
  const To* stage(To* to, const Box<T>& whole) {
    if constexpr (std::is_same_v<To, bf16x2> && std::is_same_v<T, bf16>) {
      return stage_pairs(to, whole);
    } else {
      const Box<T> box = joined(whole);
      if constexpr (std::is_same_v<To, T>)
        if (lies_staged(box))
          return box.base + offset(box, 0, 0) + offset(box, 1, 0) + offset(box, 2, 0) + offset(box, 3, 0);
      To* const staged = to;
      const i64 plane = box.size[2] * box.size[3];
      for (i64 i0 = 0; i0 < box.size[0]; ++i0)
        for (i64 i1 = 0; i1 < box.size[1]; ++i1, to += plane) {
          if (!is_inside(box, 0, i0) || !is_inside(box, 1, i1))
            std::fill(to, to + plane, To{});
          else
            stage_plane(to, Single<To, T>{box.base + offset(box, 0, i0) + offset(box, 1, i1)}, box);
        }
      return staged;
    }
  }

  /// The same for operands, whose rows may also stay where they are, if they are worth it.
  template <class To, class T>
  Staged<To> stage_operand(To* to, const Box<T>& box) {
    if constexpr (std::is_same_v<To, T>)
      if (!lies_staged(joined(box)) && rows_lie_staged(box)) {
        Staged<To> there{box.base, {}};
        for (int d = 0; d < 4; ++d) there.p += offset(box, d, 0), there.lattice.size[d] = box.size[d];
        for (int d = 0; d < 3; ++d) there.lattice.pitch[d] = box.step[d] * box.pitch[d];
        return there;
      }
    return {stage(to, box), {}};
  }

  /// y = f(value, old y, m) for what of the accumulator lies in the box.
  template <class T, class U, class F>
  void store(const Acc<T>& acc, const OutBox<U>& box, const F& f) {
    if constexpr (std::is_same_v<T, float>) {
      if (box.pitch_m < box.pitch0 && acc.shape.n2 == 1 && acc.shape.n1 == 1) return store_turned(acc, box, f);
      if (box.pitch0 == 1 && acc.shape.n2 == 1 && acc.shape.n0 % vector_lanes == 0 && box.limit0 >= acc.shape.n0)
        return store_vectors(acc, box, f);
    }
    store_by_lanes(*this, acc, box, f);
  }

  /// to[c to_pitch + r] = from[r from_pitch + c].
  template <class From, class To>
  void turn(const From* from, i64 from_pitch, i64 rows, i64 cols, To* to, i64 to_pitch) {
    if constexpr (std::is_same_v<To, float>)
      if (grant_.streams && fills_lines(to, rows, to_pitch))
        return transpose(from, from_pitch, rows, cols, to, to_pitch, [](To* p, Vector v) { stream_vector(p, v); });
    transpose(from, from_pitch, rows, cols, to, to_pitch);
  }

  template <class T>
  static bool fills_lines(const T* to, i64 count, i64 pitch) {
    return kokkos::fills_lines(to, count, pitch);
  }
  template <class T>
  static void stream(const T* from, i64 rows, i64 cols, T* to, i64 to_pitch) {
    stream_rows(from, cols, rows, cols, to, to_pitch);
  }

  template <class T, class U>
  void multiply(const Acc<T>& acc, const LeftOperand<U>& a, const RightOperand<U>& b, const Taps& taps) {
    where_they_are(a, b, taps, [&](const auto& left, const auto& right, const Taps& there) {
      if constexpr (std::is_same_v<T, float>)
        host_multiply(acc, left, right, there);
      else
        multiply_by_lanes(*this, acc, left, right, there);
    });
  }
  template <class T, class U>
  void product(const Acc<T>& acc, const LeftOperand<U>& a, const RightOperand<U>& b, const Taps& taps) {
    if constexpr (std::is_same_v<T, float>) {
      where_they_are(a, b, taps, [&](const auto& left, const auto& right, const Taps& there) {
        host_product(acc, left, right, there);
      });
    } else {
      clear(*this, acc);
      multiply(acc, a, b, taps);
    }
  }

 private:
  /// Calls f with the operands and taps as they lie where their boxes were not copied.
  template <class U, class F>
  static void where_they_are(const LeftOperand<U>& a, const RightOperand<U>& b, const Taps& taps, const F& f) {
    f(LeftOperand<U>{a.p, where_it_is(a.view, a.lattice), a.lattice},
      RightOperand<U>{b.p, where_it_is(b.view, b.lattice), b.lattice}, where_it_is(taps, a.lattice, b.lattice));
  }
  static LeftView where_it_is(const LeftView& view, const Lattice& lattice) {
    return {lattice.at(view.m_stride), lattice.at(view.k_stride)};
  }
  static RightView where_it_is(const RightView& view, const Lattice& lattice) {
    return {lattice.at(view.k_stride), lattice.at(view.n2_stride), lattice.at(view.n1_stride),
            lattice.at(view.n0_stride)};
  }
  static Taps where_it_is(const Taps& taps, const Lattice& a, const Lattice& b) {
    return {taps.count1,   taps.count0,   a.at(taps.a1), a.at(taps.a0),
            b.at(taps.b1), b.at(taps.b0), a.at(taps.a),  b.at(taps.b)};
  }

  /// So many that the compiler knows: without `omp simd` GCC unrolls short loops before it looks for vectors.
  template <class F>
  static void each_of_few(i64 n, const F& f) {
#pragma omp simd
    for (i64 i = 0; i < n; ++i) f(i);
  }

  /// Rows of pixels that follow each other without a gap are one row.
  template <class T>
  static Box<T> joined(Box<T> box) {
    const bool whole = box.origin[2] == 0 && box.size[2] == box.extent[2] && box.step[1] == 1 && box.step[2] == 1 &&
                       box.pitch[1] == box.extent[2] * box.pitch[2];
    if (!whole) return box;
    box.origin[2] = box.origin[1] * box.extent[2];
    box.size[2] *= box.size[1];
    box.extent[2] *= box.extent[1];
    box.origin[1] = 0, box.size[1] = 1, box.extent[1] = 1;
    return box;
  }

  /// True for planes of some cache lines each, in rows that are longer than one: processors then foresee the next
  /// lines.
  template <class T>
  static bool rows_lie_staged(const Box<T>& box) {
    const i64 row = box.size[3] * static_cast<i64>(sizeof(T));
    if (row <= cache_line || row * box.size[2] < 32 * cache_line || box.pitch[3] != 1 || box.step[3] != 1) return false;
    for (int d = 0; d < 4; ++d)
      if (box.origin[d] < 0 || box.origin[d] + box.step[d] * (box.size[d] - 1) >= box.extent[d]) return false;
    return true;
  }

  template <class T>
  static bool lies_staged(const Box<T>& box) {
    i64 dense = 1;
    for (int d = 3; d >= 0; --d) {
      if (box.size[d] > 1 && (box.pitch[d] != dense || box.step[d] != 1)) return false;
      if (box.origin[d] < 0 || box.origin[d] + box.step[d] * (box.size[d] - 1) >= box.extent[d]) return false;
      dense *= box.size[d];
    }
    return true;
  }

  /// The source of a plane that is staged as it is, or as float if it is bf16.
  template <class To, class T>
  struct Single {
    const T* from;
    Single moved(i64 by) const { return {from + by}; }
    To one(i64 i) const { return To(from[i]); }
    Vector many(i64 i) const { return load_vector(from + i); }
    void copy(To* to, i64 n) const {
      if constexpr (std::is_same_v<To, T>)
        std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
      else
        std::copy_n(from, n, to);
    }
  };
  /// The same for pairs, of two planes of which the second may be outside the array: null.
  struct Double {
    const bf16 *first, *second;
    Double moved(i64 by) const { return {first + by, second ? second + by : nullptr}; }
    bf16x2 one(i64 i) const { return {first[i], second ? second[i] : bf16(0.0f)}; }
    Vector many(i64 i) const { return load_pairs(first + i, second ? second + i : nullptr); }
    void copy(bf16x2* to, i64 n) const {
      i64 i = 0;
      if (second != nullptr)
        for (; i + 2 * vector_lanes <= n; i += 2 * vector_lanes) store_pairs(to + i, first + i, second + i);
      for (; i + vector_lanes <= n; i += vector_lanes) store_vector(to + i, many(i));
      if (i < n && n >= vector_lanes) return store_vector(to + n - vector_lanes, many(n - vector_lanes));
      for (; i < n; ++i) to[i] = one(i);
    }
  };

  /// A box of pairs, which begins inside the array: where the first of a pair is outside, so is the second.
  static const bf16x2* stage_pairs(bf16x2* to, const Box<bf16>& whole) {
    const Box<bf16> box = whole.paired == 1 ? whole : joined(whole);
    const int d = box.paired;
    bf16x2* const staged = to;
    const i64 plane = box.size[2] * box.size[3];
    i64 i[2];
    for (i[0] = 0; i[0] < box.size[0]; ++i[0])
      for (i[1] = 0; i[1] < box.size[1]; ++i[1], to += plane) {
        const i64 single = i[1 - d], first = 2 * i[d];
        if (!is_inside(box, 1 - d, single) || !is_inside(box, d, first)) {
          std::fill(to, to + plane, bf16x2{});
          continue;
        }
        const bf16* const base = box.base + offset(box, 1 - d, single);
        stage_plane(to,
                    Double{base + offset(box, d, first),
                           is_inside(box, d, first + 1) ? base + offset(box, d, first + 1) : nullptr},
                    box);
      }
    return staged;
  }

  template <class To, class From, class T>
  static void stage_plane(To* to, const From& from, const Box<T>& box) {
    const i64 first = first_inside(box, 3), end = end_inside(box, 3), pitch = box.size[3];
    if constexpr (sizeof(To) == sizeof(float))
      if (box.pitch[2] == 1 && box.pitch[3] != 1 && box.step[2] == 1) return stage_turned(to, from, box);
    for (i64 i2 = 0; i2 < box.size[2]; ++i2, to += pitch) {
      if (!is_inside(box, 2, i2) || first >= end)
        std::fill(to, to + pitch, To{});
      else
        stage_row(to, from.moved(offset(box, 2, i2) + offset(box, 3, first)), first, end, pitch,
                  box.step[3] * box.pitch[3]);
    }
  }

  /// A plane whose columns are contiguous in memory.
  template <class To, class From, class T>
  static void stage_turned(To* to, const From& from, const Box<T>& box) {
    const i64 pitch = box.size[3], row0 = first_inside(box, 2), row1 = std::max(row0, end_inside(box, 2)),
              col0 = first_inside(box, 3), col1 = std::max(col0, end_inside(box, 3));
    std::fill(to, to + row0 * pitch, To{});
    std::fill(to + row1 * pitch, to + box.size[2] * pitch, To{});
    if (col0 > 0 || col1 < pitch)
      for (i64 r = row0; r < row1; ++r) {
        std::fill(to + r * pitch, to + r * pitch + col0, To{});
        std::fill(to + r * pitch + col1, to + (r + 1) * pitch, To{});
      }
    const From inside = from.moved(offset(box, 2, row0) + offset(box, 3, col0));
    const i64 step = box.step[3] * box.pitch[3];
    transpose(
        col1 - col0, row1 - row0, to + row0 * pitch + col0, pitch,
        [&](i64 r, i64 c) { return inside.one(r * step + c); },
        [&](i64 r, i64 c) { return inside.many(r * step + c); });
  }

  /// A box whose rows of sums are columns in memory: what f makes of them is turned on its way there.
  template <class U, class F>
  void store_turned(const Acc<float>& acc, const OutBox<U>& box, const F& f) {
    const i64 rows = std::min(acc.shape.m, box.rows), n0 = std::min(acc.shape.n0, box.limit0), pitch = acc.shape.n0;
    each2d(rows, n0, [&](i64 m, i64 n) {
      float& sum = acc.p[m * pitch + n];
      sum = f(sum, box.reads_old ? float(box.base[m * box.pitch_m + n * box.pitch0]) : 0.0f, m, n);
    });
    if (box.pitch_m == 1) return turn(acc.p, pitch, rows, n0, box.base, box.pitch0);
    for (i64 n = 0; n < n0; ++n)
      for (i64 m = 0; m < rows; ++m) box.base[m * box.pitch_m + n * box.pitch0] = U(acc.p[m * pitch + n]);
  }

  /// A box in which whole vectors of sums lie as they are.
  template <class U, class F>
  void store_vectors(const Acc<float>& acc, const OutBox<U>& box, const F& f) {
    const i64 rows = std::min(acc.shape.m, box.rows), n1 = std::min(acc.shape.n1, box.limit1), n0 = acc.shape.n0;
    for (i64 m = 0; m < rows; ++m)
      for (i64 i1 = 0; i1 < n1; ++i1)
        for (i64 i0 = 0; i0 < n0; i0 += vector_lanes) {
          U* const to = box.base + m * box.pitch_m + i1 * box.pitch1 + i0;
          float* const from = acc.p + m * acc.shape.n() + i1 * n0 + i0;
#pragma GCC ivdep
          for (int lane = 0; lane < vector_lanes; ++lane)
            from[lane] = f(from[lane], box.reads_old ? float(to[lane]) : 0.0f, m, i1 * n0 + i0 + lane);
          if constexpr (std::is_same_v<U, float>)
            if (grant_.streams && fills_lines(to, n0, box.pitch_m)) {
              stream_vector(to, load_vector(from));
              continue;
            }
          store_vector(to, load_vector(from));
        }
  }

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

  template <class To, class From>
  static void copy_strided(To* to, const From& from, i64 n, i64 stride) {
    if (stride == 2) {  // known to the compiler, which then vectorises
#pragma GCC ivdep
      for (i64 i = 0; i < n; ++i) to[i] = from.one(2 * i);
      return;
    }
#pragma GCC ivdep
    for (i64 i = 0; i < n; ++i) to[i] = from.one(i * stride);
  }

  template <class To, class From>
  static void stage_row(To* to, const From& from, i64 first, i64 end, i64 size, i64 stride) {
    std::fill(to, to + first, To{});
    if (stride == 1)
      from.copy(to + first, end - first);
    else
      copy_strided(to + first, from, end - first, stride);
    std::fill(to + end, to + size, To{});
  }

  const Grant& grant_;
  i64 worker_;
  char* scratch_;
  i64 lists_ = 0;  ///< begun
};

}  // namespace cortado::kokkos
