#pragma once
#include <vector>

#include "backends/reference/launch_state.h"
#include "core/machine/program.h"

namespace cortado::reference {

template <class T>
struct Span {
  const T* p;
  i64 n;
  T operator[](i64 i) const { return p[i]; }
};
template <class T>
struct Block {
  const T* p;
  i64 rows, cols, pitch;
  T operator()(i64 r, i64 c) const { return p[r * pitch + c]; }
};
template <class T>
struct Out {
  T* p;
  i64 n;
  void set(i64 i, T v) const { p[i] = v; }
  T at(i64 i) const { return p[i]; }
};
template <class T>
struct OutBlock {
  T* p;
  i64 rows, cols, pitch;
  void set(i64 r, i64 c, T v) const { p[r * pitch + c] = v; }
  T at(i64 r, i64 c) const { return p[r * pitch + c]; }
};
template <class T>
struct LeftOperand {
  const T* p;
  LeftView view;
};
template <class T>
struct RightOperand {
  const T* p;
  RightView view;
};
template <class T>
struct Acc {
  T* p;
  TileShape shape;
};

/// The context of core/machine/program.h, serial.
class Context {
 public:
  static constexpr int mesh_rows = 1, mesh_cols = 1;

  explicit Context(Launch& launch) : launch_(launch), turn_(64) {}

  int row() const { return 0; }
  int col() const { return 0; }
  i64 worker() const { return launch_.worker; }
  i64 workers() const { return launch_.workers; }

  template <class Fetch, class Work>
  void lines(i64 n, Depth depth, Fetch fetch, Work work) {
    in_order(worker(), n, workers(), depth, fetch, work);
  }
  template <class Fetch, class Work>
  void pipeline(i64 n, Depth depth, Fetch fetch, Work work) {
    in_order(0, n, 1, depth, fetch, work);
  }
  template <class Work>
  void tiles(i64 n, Work work) {
    for (i64 i = worker(); i < n; i += workers()) work(i);
  }

  template <class T>
  Span<T> get(Buf, const T* p, i64 n) {
    return {p, n};
  }
  template <class T>
  Block<T> get2d(Buf, const T* p, i64 rows, i64 cols, i64 pitch) {
    return {p, rows, cols, pitch};
  }
  template <class T>
  Span<T> keep(Buf, const T* p, i64 n) {
    return {p, n};
  }
  template <class T>
  Out<T> out(Buf, T* p, i64 n) {
    return {p, n};
  }
  template <class T>
  Out<T> update(Buf, T* p, i64 n) {
    return {p, n};
  }
  template <class T>
  OutBlock<T> out2d(Buf, T* p, i64 rows, i64 cols, i64 pitch) {
    return {p, rows, cols, pitch};
  }
  template <class Handle>
  void put(Handle&) {}

  template <class F>
  void each(i64 n, F f) {
    for (i64 i = 0; i < n; ++i) f(i);
  }
  template <class F>
  void each2d(i64 rows, i64 cols, F f) {
    for (i64 r = 0; r < rows; ++r)
      for (i64 c = 0; c < cols; ++c) f(r, c);
  }
  template <class F>
  void each2d(Range rows, Range cols, F f) {
    for (i64 r = rows.first; r < rows.end; ++r)
      for (i64 c = cols.first; c < cols.end; ++c) f(r, c);
  }
  template <class T, class Op, class F>
  T fold(i64 n, T init, Op op, F f) {
    for (i64 i = 0; i < n; ++i) init = op(init, f(i));
    return init;
  }
  template <class F>
  void once(F f) {
    f();
  }
  template <class Predicate, class Words>
  void bits(i64 n, Predicate holds, Words& out) {
    for (i64 w = 0; w * 32 < n; ++w) {
      std::uint32_t word = 0;
      for (i64 b = 0; b < 32 && w * 32 + b < n; ++b) word |= std::uint32_t{holds(w * 32 + b)} << b;
      out.set(w, word);
    }
  }
  template <class Predicate, class Emit>
  i64 compact(i64 n, Predicate holds, Emit emit) {
    i64 slot = 0;
    for (i64 i = 0; i < n; ++i)
      if (holds(i)) emit(slot++, i);
    return slot;
  }
  void fail(int code, i64 index) { launch_.fail(code, index); }

  template <class T>
  LeftOperand<T> stage_a(Buf buf, const Box<T>& box, LeftView view) {
    return {stage(buf, box), view};
  }
  template <class T>
  RightOperand<T> stage_b(Buf buf, const Box<T>& box, RightView view) {
    return {stage(buf, box), view};
  }
  template <class T>
  Acc<T> acc(Buf buf, TileShape shape) {
    T* const p = place<T>(buf);
    for (i64 i = 0; i < shape.m * shape.n(); ++i) p[i] = T(0);
    return {p, shape};
  }
  template <class T>
  LeftOperand<T> row_share(const LeftOperand<T>& a, int) {
    return a;
  }
  template <class T>
  RightOperand<T> col_share(const RightOperand<T>& b, int) {
    return b;
  }
  template <class T>
  void fma(Acc<T>& acc, const LeftOperand<T>& a, const RightOperand<T>& b, const Taps& taps) {
    const TileShape& s = acc.shape;
    T* y = acc.p;
    for (i64 m = 0; m < s.m; ++m)
      for (i64 n2 = 0; n2 < s.n2; ++n2)
        for (i64 n1 = 0; n1 < s.n1; ++n1)
          for (i64 n0 = 0; n0 < s.n0; ++n0, ++y)
            for (i64 t1 = 0; t1 < taps.count1; ++t1)
              for (i64 t0 = 0; t0 < taps.count0; ++t0) {
                const T* pa = a.p + m * a.view.m_stride + taps.a1 * t1 + taps.a0 * t0;
                const T* pb = b.p + n2 * b.view.n2_stride + n1 * b.view.n1_stride + n0 * b.view.n0_stride +
                              taps.b1 * t1 + taps.b0 * t0;
                for (i64 k = 0; k < s.k; ++k) *y += pa[k * a.view.k_stride] * pb[k * b.view.k_stride];
              }
  }
  template <class T, class F>
  void store(const Acc<T>& acc, const OutBox<T>& box, F f) {
    const TileShape& s = acc.shape;
    for (i64 m = 0; m < s.m && m < box.rows; ++m)
      for (i64 n2 = 0; n2 < s.n2 && n2 < box.limit2; ++n2)
        for (i64 n1 = 0; n1 < s.n1 && n1 < box.limit1; ++n1)
          for (i64 n0 = 0; n0 < s.n0 && n0 < box.limit0; ++n0) {
            T& y = box.base[m * box.pitch_m + n2 * box.pitch2 + n1 * box.pitch1 + n0 * box.pitch0];
            y = f(acc.p[((m * s.n2 + n2) * s.n1 + n1) * s.n0 + n0], y, m);
          }
  }

 private:
  template <class Fetch, class Work>
  void in_order(i64 first, i64 n, i64 step, Depth depth, Fetch& fetch, Work& work) {
    if (first >= n) return;
    auto in = fetch(first);
    for (i64 i = first; i < n; i += step) {
      if (depth == Depth::two && i + step < n) {
        auto next = fetch(i + step);
        work(i, in);
        in = next;
      } else {
        work(i, in);
        if (i + step < n) in = fetch(i + step);
      }
    }
  }

  template <class T>
  const T* stage(Buf buf, const Box<T>& box) {
    T* const to = place<T>(buf);
    for (i64 e = 0; e < box.count(); ++e) {
      i64 flat = e, offset = 0;
      bool inside = true;
      for (int d = 3; d >= 0; --d) {
        const i64 x = box.origin[d] + box.step[d] * (flat % box.size[d]);
        flat /= box.size[d];
        inside = inside && x >= 0 && x < box.extent[d];
        offset += x * box.pitch[d];
      }
      to[e] = inside ? box.base[offset] : T(0);
    }
    return to;
  }

  template <class T>
  T* place(Buf buf) {
    const int slot = turn_[static_cast<std::size_t>(buf.id)]++ % buf.slots;
    return reinterpret_cast<T*>(launch_.scratch + buf.offset + i64{buf.bytes} * slot);
  }

  Launch& launch_;
  std::vector<int> turn_;
};

}  // namespace cortado::reference
