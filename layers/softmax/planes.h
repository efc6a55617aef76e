#pragma once
#include "core/machine/gather.h"
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// Values of classes, outer x classes x inner, and values of positions, outer x inner. A line is one `outer` and
/// `block` positions; the classes of one position lie `inner` apart.
struct ClassPlanes {
  i64 outer, classes, inner, block;
  CORTADO_FN i64 blocks() const { return (inner + block - 1) / block; }
  CORTADO_FN i64 lines() const { return outer * blocks(); }
  CORTADO_FN i64 width(i64 line) const { return math::min(block, inner - line % blocks() * block); }
  /// Places of a line's first value of a class, and of its first position.
  CORTADO_FN i64 value(i64 line) const { return line / blocks() * classes * inner + line % blocks() * block; }
  CORTADO_FN i64 position(i64 line) const { return line / blocks() * inner + line % blocks() * block; }

  /// A line's values of classes, a row for each class, and its values of positions.
  template <class C>
  CORTADO_FN auto get(C& c, Buf buf, const float* array, i64 line) const {
    return c.get2d(buf, array + value(line), classes, width(line), inner);
  }
  template <class C>
  CORTADO_FN auto out(C& c, Buf buf, float* array, i64 line) const {
    return c.out2d(buf, array + value(line), classes, width(line), inner);
  }
  template <class C>
  CORTADO_FN auto get_positions(C& c, Buf buf, const float* array, i64 line) const {
    return c.get(buf, array + position(line), width(line));
  }
  template <class C>
  CORTADO_FN auto out_positions(C& c, Buf buf, float* array, i64 line) const {
    return c.out(buf, array + position(line), width(line));
  }
};

}  // namespace cortado
