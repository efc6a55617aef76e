#pragma once
#include "backends/sunway/port.h"
#include "backends/sunway/value.h"
#include "core/machine/program.h"

namespace cortado::sunway {

/// Transfers on their way and how many there are; to be waited for together.
struct Pending {
  port_reply reply = {0};
  int issued = 0;

  void wait() {
    if (issued > 0) port_wait(&reply, issued);
    reply.arrived = 0;
    issued = 0;
  }
};

/// A line in the scratchpad.
template <class T>
struct Span {
  const T* p = nullptr;
  i64 n = 0;
  Value<T> operator[](i64 i) const { return load(p + i); }
};

/// A block of rows, dense in the scratchpad.
template <class T>
struct Block {
  const T* p = nullptr;
  i64 rows = 0, cols = 0;
  Value<T> operator()(i64 r, i64 c) const { return load(p + r * cols + c); }
};

/// A line that will be put to `home`.
template <class T>
struct Out {
  T* p = nullptr;
  i64 n = 0;
  T* home = nullptr;
  Pending* puts = nullptr;
  void set(i64 i, T v) { store(p + i, v); }
  Value<T> at(i64 i) const { return load(p + i); }
};

/// The place in which an operand arrives that another CPE shares: slots of so many bytes; nullptr where none are
/// booked.
struct ReceiveSlots {
  char* p = nullptr;
  int bytes = 0;
};

template <class T>
struct OutBlock {
  T* p = nullptr;
  i64 rows = 0, cols = 0;
  T* home = nullptr;
  i64 pitch = 0;
  Pending* puts = nullptr;
  ReceiveSlots slots;  ///< of a block that becomes an operand
  void set(i64 r, i64 c, T v) { store(p + r * cols + c, v); }
  Value<T> at(i64 r, i64 c) const { return load(p + r * cols + c); }
};

/// Block to be put turned; lies in the scratchpad as it goes to memory.
template <class T>
struct TurnedBlock {
  T* p = nullptr;
  i64 rows = 0, cols = 0;
  T* home = nullptr;
  i64 pitch = 0, kept = 0;
  Pending* puts = nullptr;
  void set(i64 r, i64 c, T v) { store(p + c * rows + r, v); }
  Value<T> at(i64 r, i64 c) const { return load(p + c * rows + r); }
};

/// A staged box, and the copy, of wider elements or with rows and columns exchanged, that is multiplied instead if the
/// plan has room for one (Buf::spare). The copy is made before the first use.
template <class T>
struct Staged {
  const T* p = nullptr;
  int elements = 0;
  void* copy = nullptr;
  bool widened = false, copied = false;
  i64 rows = 0, cols = 0;  ///< of a matrix that came column by column; rows 0: it did not
  ReceiveSlots slots;
  int serial = 0;  ///< tells operands of a launch apart
  const void* multiplied() const { return copy != nullptr ? copy : p; }
};

/// Staged operands, and what CPE (row, step) or (step, column) has staged.
template <class T>
struct LeftOperand : Staged<T> {
  LeftView view;
};
template <class T>
struct RightOperand : Staged<T> {
  RightView view;
};
template <class Operand>
struct Shared {
  Operand operand;
  int step = -1;
};

template <class T>
struct Acc {
  T* p = nullptr;
  TileShape shape;
  Pending* puts = nullptr;
  Value<T> operator()(i64 m, i64 n) const { return load(p + m * shape.n() + n); }
};

}  // namespace cortado::sunway
