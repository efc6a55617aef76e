#pragma once
#include "backends/reference/cpe.h"

namespace cortado::reference {

/// The common part of all handles: the slot for which they were made, and its generation then.
struct BufferHandle {
  Slot* slot = nullptr;
  std::uint32_t generation = 0;

  BufferHandle() = default;
  explicit BufferHandle(Slot& made_for) : slot(&made_for), generation(made_for.generation) {}
  void check_live() const { slot->cpe->check_live(*slot, generation); }

 protected:
  template <class T>
  T& element(i64 i) const {
    return reinterpret_cast<T*>(slot->data)[i];
  }
  void check(i64 i, i64 n) const {
    check_live();
    if (i < 0 || i >= n) slot->cpe->out_of_range(*slot, i, n);
  }
};

/// Read-only line.
template <class T>
struct Span : BufferHandle {
  i64 n = 0;
  Span() = default;
  Span(Slot& made_for, i64 length) : BufferHandle(made_for), n(length) {}
  T operator[](i64 i) const {
    check(i, n);
    if (slot->tracks) slot->cpe->read(*slot, i, false);
    return element<T>(i);
  }
};

/// Read-only block.
template <class T>
struct Block : BufferHandle {
  i64 rows = 0, cols = 0;
  Block() = default;
  Block(Slot& made_for, i64 r, i64 c) : BufferHandle(made_for), rows(r), cols(c) {}
  T operator()(i64 r, i64 c) const {
    check(r, rows);
    check(c, cols);
    if (slot->tracks) slot->cpe->read(*slot, r * cols + c, false);
    return element<T>(r * cols + c);
  }
};

/// Line to be written.
template <class T>
struct Out : BufferHandle {
  i64 n = 0;
  Out() = default;
  Out(Slot& made_for, i64 length) : BufferHandle(made_for), n(length) {}
  void set(i64 i, T value) const {
    check(i, n);
    slot->cpe->write(*slot, 0, i, false, i);
    element<T>(i) = value;
  }
  T at(i64 i) const {
    check(i, n);
    slot->cpe->read(*slot, i, true);
    return element<T>(i);
  }
};

/// Block to be written.
template <class T>
struct OutBlock : BufferHandle {
  i64 rows = 0, cols = 0;
  OutBlock() = default;
  OutBlock(Slot& made_for, i64 r, i64 c) : BufferHandle(made_for), rows(r), cols(c) {}
  void set(i64 r, i64 c, T value) const {
    check(r, rows);
    check(c, cols);
    slot->cpe->write(*slot, r, c, true, r * cols + c);
    element<T>(r * cols + c) = value;
  }
  T at(i64 r, i64 c) const {
    check(r, rows);
    check(c, cols);
    slot->cpe->read(*slot, r * cols + c, true);
    return element<T>(r * cols + c);
  }
};

/// Block to be put turned: its slot holds what goes to memory, row by row of that; columns that are not kept are
/// dropped.
template <class T>
struct TurnedBlock : BufferHandle {
  i64 rows = 0, cols = 0, kept = 0;
  TurnedBlock() = default;
  TurnedBlock(Slot& made_for, i64 r, i64 c, i64 put) : BufferHandle(made_for), rows(r), cols(c), kept(put) {}
  void set(i64 r, i64 c, T value) const {
    check(r, rows);
    check(c, cols);
    if (c >= kept) return;
    slot->cpe->write(*slot, r, c, true, c * rows + r);
    element<T>(c * rows + r) = value;
  }
  T at(i64 r, i64 c) const {
    check(r, rows);
    check(c, cols);
    if (c >= kept) return T(0);
    slot->cpe->read(*slot, c * rows + r, true);
    return element<T>(c * rows + r);
  }
};

/// A staged box and how it is read.
template <class T>
struct LeftOperand : BufferHandle {
  LeftView view;
  LeftOperand() = default;
  LeftOperand(Slot& made_for, const LeftView& v) : BufferHandle(made_for), view(v) {}
};
template <class T>
struct RightOperand : BufferHandle {
  RightView view;
  RightOperand() = default;
  RightOperand(Slot& made_for, const RightView& v) : BufferHandle(made_for), view(v) {}
};

/// An accumulator, dense row-major m x n2 x n1 x n0.
template <class T>
struct Acc : BufferHandle {
  TileShape shape;
  i64 first = 0;  ///< its first element in the slot: rows of an accumulator are one too
  Acc() = default;
  Acc(Slot& made_for, const TileShape& s) : BufferHandle(made_for), shape(s) {}
  T* sums() const { return reinterpret_cast<T*>(slot->data) + first; }
  T operator()(i64 m, i64 n) const {
    check(m, shape.m);
    check(n, shape.n());
    return sums()[m * shape.n() + n];
  }
};

}  // namespace cortado::reference
