#pragma once
#include "core/base/bf16.h"
#include "core/base/layout.h"
#include "core/base/types.h"
#include "core/machine/plan.h"

namespace cortado {

/// Identifies a program type within one executable.
using ProgramKey = const void*;

/// Defined where a unit compiles the program (core/machine/program_key.h): the launch of a program that no folder's
/// CMakeLists.txt lists does not link.
template <class Program>
ProgramKey program_key();

// A *program* is a trivially copyable struct that the management side fills in and launches on a compute cluster:
//
//   struct AddOne {
//     static constexpr const char* label = "add_one";   // what profilers and errors show
//     const float* x; float* y; i64 n, block; Buf in, out; Depth depth;
//     template <class C> CORTADO_FN void operator()(C& c) const {
//       const i64 block = this->block, n = this->n;
//       c.lines((n + block - 1) / block, depth,
//         [&](i64 i) { return c.get(in, x + i * block, math::min(block, n - i * block)); },
//         [&](i64 i, auto& line) {
//           auto q = c.out(out, y + i * block, line.n);
//           c.each(line.n, [&](i64 j) { q.set(j, line[j] + 1.0f); });
//           c.put(q);
//         });
//     }
//   };
//
// It holds pointers into cluster memory, sizes and Bufs; no containers, no virtuals, no exceptions, no allocation.
// The *context* `c` is the backend's. What every context offers (T is float, double, int or a 32-bit word):
//
// Who am I
//   C::mesh_rows, C::mesh_cols   compile-time mesh of a tile program, 1 x 1 where sharing vanishes
//   c.row(), c.col()             this CPE's place in the mesh
//
// Order. Every body runs on all lanes of a CPE, so control flow outside lane loops must be uniform.
//   c.lines(n, depth, fetch, work)     streaming: lines 0..n-1 spread over CPEs; in = fetch(i), then work(i, in).
//                                      With Depth::two fetch(i') of the next line runs before work(i).
//   c.pipeline(n, depth, fetch, work)  the same order, all n done by this CPE (or mesh, in a tile program)
//   c.tiles(n, work)                   tile program: tiles 0..n-1 spread over meshes; all CPEs of a mesh get the same
//   c.tiles(n, steps, depth, begin, fetch, work, end)
//                                      tiles of at least one step each, in one pipeline that goes on from tile to tile:
//                                      sums = begin(tile); for every step in = fetch(tile, step) and
//                                      work(step, in, sums); end(tile, sums)
//
// Data. The destination of an output is named before it is written.
//   c.get(buf, p, n)                   read-only line p[0..n): Span with .n and [i]; may borrow the memory itself
//   c.get2d(buf, p, rows, cols, pitch) read-only block: Block with .rows, .cols and (r, c)
//   c.stage(buf, Box)                  a box (below), zero outside its array, as a Block: rows are its first three
//                                      dimensions, columns the last; booked as a tile, may borrow the memory itself
//   c.keep(buf, p, n)                  like get, stays valid for the whole launch: call it once, before lines/tiles
//   c.out(buf, p, n)                   a line to be written in full: Out with .n, set(i, v) and at(i) (after set)
//   c.update(buf, p, n)                a line read and written: at(i) gives the old value until set
//   c.out2d(buf, p, rows, cols, pitch) a block to be written in full: set(r, c, v)
//   c.out_turned(buf, p, rows, cols, pitch, kept)
//                                      a private block to be written in full, whose put turns it: element (r, c) goes
//                                      to p[c pitch + r]; columns from `kept` on are not put; booked as a tile
//   c.out_streamed(buf, p, rows, cols, pitch)
//                                      a private block to be written in full, whose put goes past the caches: for what
//                                      other CPEs read next, who may be farther from this one's cache than from memory;
//                                      booked as a tile
//   c.put(out)                         sends an out or update on its way; the handle is dead afterwards
//   `out` may alias a `get` of the same line exactly or not at all; what it sets is gone from the `get`. Within a
//   launch no line may read what another line writes, nor two lines write the same element: CPEs run in any order.
//   Nor may a line get, keep or stage what it has put itself: a device may hold what was there before.
//
// Lanes. After a lane loop all lanes see what it wrote. There is no other barrier: between the ends of two lane loops
// no lane may read or set an element that another lane sets. Lane loops do not nest and hold no operations on data.
// A local array with an element per lane is the lanes' own: what lane i sets in one loop, lane i alone reads in the
// next.
//   c.each(n, f)                  f(i) for i in [0, n): lane i may set only element i of an Out, or column i of a block
//   c.each(Range, f)              the same over a part of a line, which may be empty
//   c.each2d(rows, cols, f)       f(r, c), the same over a block; lane (r, c) may set only element (r, c)
//   c.each2d(Range rows, Range cols, f)    the same over a part of a block, which may be empty
//   c.fold(n, init, op, f)        op over f(0..n-1), in an order fixed by n; uniform result, op associative and
//                                commutative
//   c.once(f)                     f() on one lane: may set any element
//   C::own_lanes                  the lanes that each run the body, where they do: a variable is then one for each lane
//   c.each2d_own(rows, cols, f)   of those contexts: f(r, c) without the barrier behind it, for sums that stay with
//                                 lanes (core/machine/sums.h)
//   c.fail(code, index)           remembers a failure; the wait throws. The program goes on.
//
// Tiles: acc (M x N) += sum over taps t, over k of A(m, k; t) B(k, n; t). The operands of one CPE are staged boxes.
//   c.stage_a(buf, Box, LeftView)    stages a box (zero outside the array's extent; may borrow the memory itself) and
//   c.stage_b(buf, Box, RightView)   says how to read it as an operand: m, k and n0 stay in a row of the box or go by
//                                    whole rows; both are opaque
//   c.acc<T>(buf, TileShape)         a zeroed M x N accumulator; lanes may read a sum, acc(m, n), as they read lines
//   c.sums<T>(buf, TileShape)        the same, but unset until `product` sets it
//   c.rows(acc, first, count)        some of its rows, as an accumulator
//   c.rows(acc, first, count, terms) the same, to which fma adds that many terms
//   c.block<T>(buf, rows, cols)      a private block that lanes set, (r, c), and is never put; booked as a tile, or
//                                    with PlanBuilder::spill, as an operand that is shared must be
//   c.left(block, LeftView), c.right(block, RightView)
//                                    operands that read the block; lanes have set all that they reach
//   c.row_share(a, t), c.col_share(b, t)   operand of CPE (row, t) / (t, col), as tokens for the next fma
//   c.fma(acc, a, b, Taps)           the multiply; belongs to the backend
//   c.product(acc, a, b, Taps)       the same, but the sums are those of this call alone
//   c.store(acc, OutBox, f)          y = f(value, old y, m, n) for every element inside the box's bounds, acc(m, n);
//                                    the sums are spent: nobody may look at them again
// The register-communication GEMM (swCaffe IV-A) is then, on any mesh:
//   for (int t = 0; t < C::mesh_cols; ++t) c.fma(acc, c.row_share(a, t), c.col_share(b, t), taps);
// Operands that are shared in step t are shared in steps t+1, t+2, ... too: a backend may send those of the next step
// while it multiplies.
//
// Where MachineSpec::bf16 holds, T may be bf16 too: memory then holds bf16, lanes see float (Lane<T>), and so do
// private blocks. Operands of bf16 are staged as pairs (Box::paired) of neighbours along the sum, or lie so in memory
// (Box<bf16x2>); sums are float.
//
// Values are plain T on every backend but a simulator, where they may be a type that counts operations: write
// `auto v = line[j]`, and `select(condition, a, b)` (core/machine/math.h) for data-dependent choices.

/// Indices [first, end); empty when end <= first.
struct Range {
  i64 first = 0, end = 0;
  CORTADO_FN i64 count() const { return end > first ? end - first : 0; }
};

/// The result of a `fetch` that brings two things.
template <class A, class B>
struct Both {
  A first;
  B second;
};
template <class A, class B>
CORTADO_FN Both<A, B> both(A first, B second) {
  return {first, second};
}

/// A window of up to four dimensions onto an array: box element (i0..i3) is
/// base[sum over d of (origin[d] + step[d] i_d) pitch[d]], or 0 where some origin[d] + step[d] i_d is outside
/// [0, extent[d]). The staged copy is dense, row-major over `size`. Unused leading dimensions have size and
/// extent 1 and origin 0.
template <class T>
struct Box {
  const T* base = nullptr;
  i64 extent[4] = {1, 1, 1, 1};
  i64 pitch[4] = {0, 0, 0, 0};
  i64 origin[4] = {0, 0, 0, 0};
  i64 size[4] = {1, 1, 1, 1};
  i64 step[4] = {1, 1, 1, 1};
  /// Operands of T = bf16 only: the dimension along which neighbours come as pairs, zero outside the extent too; its
  /// size then counts pairs, pair i being elements origin + 2 i and the next one.
  int paired = -1;

  CORTADO_FN i64 count() const { return size[0] * size[1] * size[2] * size[3]; }

  CORTADO_FN void set(const i64 (&extents)[4], const i64 (&pitches)[4], const i64 (&origins)[4],
                      const i64 (&sizes)[4]) {
    for (int d = 0; d < 4; ++d) {
      extent[d] = extents[d];
      pitch[d] = pitches[d];
      origin[d] = origins[d];
      size[d] = sizes[d];
    }
  }
  CORTADO_FN void place(const i64 (&origins)[4], const i64 (&sizes)[4]) { set(extent, pitch, origins, sizes); }

  /// A rows x cols window at (row0, col0) of a row-major matrix of `rows_total` x `cols_total`.
  CORTADO_FN static Box matrix(const T* base, i64 rows_total, i64 cols_total, i64 pitch, i64 row0, i64 col0, i64 rows,
                               i64 cols) {
    Box b;
    b.base = base;
    b.extent[2] = rows_total;
    b.extent[3] = cols_total;
    b.pitch[2] = pitch;
    b.pitch[3] = 1;
    b.origin[2] = row0;
    b.origin[3] = col0;
    b.size[2] = rows;
    b.size[3] = cols;
    return b;
  }
};

/// The type as which operands of T are staged.
template <class T>
struct OperandOf {
  using type = T;
  static constexpr i64 terms = 1;  ///< of the sum, in one operand
};
template <>
struct OperandOf<bf16> {
  using type = bf16x2;
  static constexpr i64 terms = 2;
};
template <class T>
using Operand = typename OperandOf<T>::type;

/// Sizes of one CPE's product: m rows, n = n2 x n1 x n0 columns (n0 fastest), k terms per tap.
struct TileShape {
  i64 m = 1, n2 = 1, n1 = 1, n0 = 1, k = 1;
  CORTADO_FN i64 n() const { return n2 * n1 * n0; }
  /// `channels` columns, in a row or in groups as blobs in blocks have them.
  CORTADO_FN void set_columns(i64 channels, Layout layout) {
    n0 = layout == Layout::nchw16c ? block_channels : channels;
    n1 = channels / n0;
  }
};

/// A(m, k; t) is element m_stride m + k_stride k + (tap offset) of the staged box.
struct LeftView {
  i64 m_stride = 0, k_stride = 0;
};

/// B(k, n; t) is element k_stride k + n2_stride n2 + n1_stride n1 + n0_stride n0 + (tap offset) of the staged box.
struct RightView {
  i64 k_stride = 0, n2_stride = 0, n1_stride = 0, n0_stride = 1;
};

/// count1 x count0 pairs of operands whose products are summed: tap (t1, t0) reads A at a + a1 t1 + a0 t0 and B at
/// b + b1 t1 + b0 t0. The kernel positions of a convolution, or the rows of pixels of a weight gradient; a plain
/// GEMM has one tap.
struct Taps {
  i64 count1 = 1, count0 = 1;
  i64 a1 = 0, a0 = 0, b1 = 0, b0 = 0;
  i64 a = 0, b = 0;  ///< where tap (0, 0) reads the operands
};

/// The destination of an accumulator: element (m, n2, n1, n0) goes to base[m pitch_m + n2 pitch2 + n1 pitch1 + n0
/// pitch0], if m < rows and n2 < limit2, n1 < limit1, n0 < limit0. Elements beyond are dropped (tiles that hang over an
/// edge).
template <class T>
struct OutBox {
  T* base = nullptr;
  i64 rows = 0, limit2 = 1, limit1 = 1, limit0 = 0;
  i64 pitch_m = 0, pitch2 = 0, pitch1 = 0, pitch0 = 1;
  bool reads_old = true;  ///< false: f does not depend on y's old value, which is then not fetched
};

}  // namespace cortado
