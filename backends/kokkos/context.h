#pragma once
#include <type_traits>

#include "backends/kokkos/share.h"
#include "backends/kokkos/tiles.h"
#include "core/base/bf16.h"
#include "core/machine/program.h"

namespace cortado::kokkos {

constexpr int max_bookings = 16;  ///< buffers of one plan; a context counts their slots

/// Loads what the launch has not written. A device may do so ahead of stores to other memory.
template <class T>
CORTADO_FN T load_unwritten(const T* p) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_arithmetic_v<T>) return __ldg(p);
#endif
  return *p;
}

/// Read-only line; borrows the memory.
template <class T>
struct Span {
  const T* p;
  i64 n;
  CORTADO_FN Lane<T> operator[](i64 i) const { return load_unwritten(p + i); }
};

/// Read-only block of rows; borrows the memory.
template <class T>
struct Block {
  const T* p;
  i64 rows, cols, pitch;
  CORTADO_FN Lane<T> operator()(i64 r, i64 c) const { return load_unwritten(p + r * pitch + c); }
};

/// Read-only block of rows that may lie in scratch.
template <class T>
struct StagedBlock {
  const T* p;
  i64 rows, cols;
  CORTADO_FN T operator()(i64 r, i64 c) const { return p[r * cols + c]; }
};

/// Line to be written; writes go straight to memory.
template <class T>
struct Out {
  T* p;
  i64 n;
  CORTADO_FN void set(i64 i, Lane<T> v) const { p[i] = v; }
  CORTADO_FN Lane<T> at(i64 i) const { return p[i]; }
};

/// Block to be written. Writes go straight to memory, or to scratch where `put` then streams the block home.
template <class T>
struct OutBlock {
  T* p;
  i64 rows, cols, pitch;
  T* home = nullptr;
  i64 home_pitch = 0;
  CORTADO_FN void set(i64 r, i64 c, Lane<T> v) const { p[r * pitch + c] = v; }
  CORTADO_FN Lane<T> at(i64 r, i64 c) const { return p[r * pitch + c]; }
};

/// Block to be put turned; lies in scratch.
template <class T>
struct TurnedBlock {
  Lane<T>* p;
  i64 rows, cols;
  T* home;
  i64 pitch, kept;
  CORTADO_FN void set(i64 r, i64 c, Lane<T> v) const { p[r * cols + c] = v; }
  CORTADO_FN Lane<T> at(i64 r, i64 c) const { return p[r * cols + c]; }
};

/// The context of core/machine/program.h on one worker of Kokkos; `Team` (host_team.h, cuda_team.h) says what a
/// worker is and runs its lanes. Caches stand between memory and lanes, so lines borrow the memory and a pipeline's
/// depth changes nothing but the slots that staging rotates through; the mesh is 1 x 1, so sharing vanishes.
template <class Team>
class Context {
 public:
  static constexpr int mesh_rows = 1, mesh_cols = 1;
  static constexpr i64 own_lanes = Team::own_lanes;

  CORTADO_FN explicit Context(const Team& team) : team_(team) {}

  CORTADO_FN int row() const { return 0; }
  CORTADO_FN int col() const { return 0; }

  template <class Fetch, class Work>
  CORTADO_FN void lines(i64 n, Depth depth, Fetch fetch, Work work) {
    in_order(team_.share(n), depth, fetch, work);
  }

  template <class Fetch, class Work>
  CORTADO_FN void pipeline(i64 n, Depth depth, Fetch fetch, Work work) {
    in_order(Interval(0, n), depth, fetch, work);
  }

  template <class Work>
  CORTADO_FN void tiles(i64 n, Work work) {
    auto items = team_.share(n);
    for (i64 i = 0; items.next(i);) work(i);
  }
  template <class Begin, class Fetch, class Work, class End>
  CORTADO_FN void tiles(i64 n, i64 steps, Depth depth, Begin begin, Fetch fetch, Work work, End end) {
    tiles(n, [&](i64 tile) {
      auto sums = begin(tile);
      pipeline(
          steps, depth, [&](i64 step) { return fetch(tile, step); }, [&](i64 step, auto& in) { work(step, in, sums); });
      end(tile, sums);
    });
  }

  template <class T>
  CORTADO_FN Span<T> get(Buf, const T* p, i64 n) {
    team_.announce(p, n * static_cast<i64>(sizeof(T)));
    return {p, n};
  }
  template <class T>
  CORTADO_FN Block<T> get2d(Buf, const T* p, i64 rows, i64 cols, i64 pitch) {
    return {p, rows, cols, pitch};
  }
  template <class T>
  CORTADO_FN StagedBlock<Lane<T>> stage(Buf buf, const Box<T>& box) {
    return {team_.stage(place<Lane<T>>(buf), box), box.size[0] * box.size[1] * box.size[2], box.size[3]};
  }
  template <class T>
  CORTADO_FN Span<T> keep(Buf, const T* p, i64 n) {
    return {p, n};
  }
  template <class T>
  CORTADO_FN Out<T> out(Buf, T* p, i64 n) {
    return {p, n};
  }
  template <class T>
  CORTADO_FN Out<T> update(Buf, T* p, i64 n) {
    return {p, n};
  }
  template <class T>
  CORTADO_FN OutBlock<T> out2d(Buf, T* p, i64 rows, i64 cols, i64 pitch) {
    return {p, rows, cols, pitch};
  }
  template <class T>
  CORTADO_FN OutBlock<T> out_streamed(Buf buf, T* p, i64 rows, i64 cols, i64 pitch) {
    if (!team_.fills_lines(p, cols, pitch)) return {p, rows, cols, pitch};
    return {place<T>(buf), rows, cols, cols, p, pitch};
  }
  template <class T>
  CORTADO_FN TurnedBlock<T> out_turned(Buf buf, T* p, i64 rows, i64 cols, i64 pitch, i64 kept) {
    return {place<Lane<T>>(buf), rows, cols, p, pitch, kept};
  }
  template <class Handle>
  CORTADO_FN void put(Handle&) {}
  template <class T>
  CORTADO_FN void put(OutBlock<T>& out) {
    if (out.home != nullptr) team_.stream(out.p, out.rows, out.cols, out.home, out.home_pitch);
  }
  template <class T>
  CORTADO_FN void put(TurnedBlock<T>& out) {
    team_.turn(out.p, out.cols, out.rows, out.kept, out.home, out.pitch);
  }

  template <class F>
  CORTADO_FN void each(i64 n, F f) {
    team_.each(n, f);
  }
  template <class F>
  CORTADO_FN void each(Range range, F f) {
    auto shifted = [&](i64 i) { f(range.first + i); };
    team_.each(range.count(), shifted);
  }
  template <class F>
  CORTADO_FN void each2d(i64 rows, i64 cols, F f) {
    team_.each2d(rows, cols, f);
  }
  template <class F>
  CORTADO_FN void each2d(Range rows, Range cols, F f) {
    auto shifted = [&](i64 r, i64 c) { f(rows.first + r, cols.first + c); };
    team_.each2d(rows.count(), cols.count(), shifted);
  }
  template <class T, class Op, class F>
  CORTADO_FN T fold(i64 n, T init, Op op, F f) {
    return team_.fold(n, init, op, f);
  }
  template <class F>
  CORTADO_FN void each2d_own(i64 rows, i64 cols, F f) {
    team_.each2d_own(rows, cols, f);
  }
  template <class F>
  CORTADO_FN void once(F f) {
    team_.once(f);
  }
  CORTADO_FN void fail(int code, i64 index) { team_.fail(code, index); }

  template <class T>
  CORTADO_FN LeftOperand<Operand<T>> stage_a(Buf buf, const Box<T>& box, LeftView view) {
    const auto [p, lattice] = team_.stage_operand(place<Operand<T>>(buf), box);
    return {p, view, lattice};
  }
  template <class T>
  CORTADO_FN RightOperand<Operand<T>> stage_b(Buf buf, const Box<T>& box, RightView view) {
    const auto [p, lattice] = team_.stage_operand(place<Operand<T>>(buf), box);
    return {p, view, lattice};
  }
  template <class T>
  CORTADO_FN Acc<T> acc(Buf buf, TileShape shape) {
    const Acc<T> acc = sums<T>(buf, shape);
    clear(team_, acc);
    return acc;
  }
  template <class T>
  CORTADO_FN Acc<T> sums(Buf buf, TileShape shape) {
    return {place<T>(buf), shape};
  }
  template <class T>
  CORTADO_FN OutBlock<T> block(Buf buf, i64 rows, i64 cols) {
    return {place<T>(buf), rows, cols, cols};
  }
  template <class T>
  CORTADO_FN LeftOperand<T> left(const OutBlock<T>& block, LeftView view) {
    return {block.p, view};
  }
  template <class T>
  CORTADO_FN RightOperand<T> right(const OutBlock<T>& block, RightView view) {
    return {block.p, view};
  }
  template <class T>
  CORTADO_FN Acc<T> rows(const Acc<T>& acc, i64 first, i64 count) {
    return rows(acc, first, count, acc.shape.k);
  }
  template <class T>
  CORTADO_FN Acc<T> rows(const Acc<T>& acc, i64 first, i64 count, i64 terms) {
    TileShape shape = acc.shape;
    shape.m = count, shape.k = terms;
    return {acc.p + first * shape.n(), shape};
  }
  template <class T>
  CORTADO_FN LeftOperand<T> row_share(const LeftOperand<T>& a, int) {
    return a;
  }
  template <class T>
  CORTADO_FN RightOperand<T> col_share(const RightOperand<T>& b, int) {
    return b;
  }
  template <class T, class U>
  CORTADO_FN void fma(Acc<T>& acc, const LeftOperand<U>& a, const RightOperand<U>& b, const Taps& taps) {
    team_.multiply(acc, a, b, taps);
  }
  template <class T, class U>
  CORTADO_FN void product(Acc<T>& acc, const LeftOperand<U>& a, const RightOperand<U>& b, const Taps& taps) {
    team_.product(acc, a, b, taps);
  }

  template <class T, class U, class F>
  CORTADO_FN void store(const Acc<T>& acc, const OutBox<U>& box, F f) {
    team_.store(acc, box, f);
  }

 private:
  /// fetch and work for each item. Where the team can make use of it, Depth::two fetches the next before the work on
  /// this one: what it borrows is then on its way to a cache.
  template <class Items, class Fetch, class Work>
  CORTADO_FN void in_order(Items items, Depth depth, Fetch& fetch, Work& work) {
    i64 i = 0;
    if (!Team::looks_ahead || depth == Depth::one) {
      while (items.next(i)) {
        auto in = fetch(i);
        work(i, in);
      }
      return;
    }
    if (!items.next(i)) return;
    auto in = fetch(i);
    for (i64 next = 0; items.next(next); i = next) {
      auto following = fetch(next);
      work(i, in);
      in = following;
    }
    work(i, in);
  }

  /// The next slot of a booking.
  template <class T>
  CORTADO_FN T* place(Buf buf) {
    const int slot = turn_[buf.id];
    turn_[buf.id] = slot + 1 == buf.slots ? 0 : slot + 1;
    return reinterpret_cast<T*>(team_.scratch() + buf.offset + i64{buf.bytes} * slot);
  }

  Team team_;
  int turn_[max_bookings] = {};
};

}  // namespace cortado::kokkos
