#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// The most axes that a window may have.
constexpr int window_axes = 8;

/// A window of a dense array: entries [origin, origin + size) of each axis. The last axis is a line, cut into blocks;
/// unused axes in front have extent and size 1 and origin 0.
struct CropWindow {
  i64 extent[window_axes], size[window_axes], origin[window_axes];
  i64 block;

  CORTADO_FN i64 width() const { return size[window_axes - 1]; }
  CORTADO_FN i64 blocks() const { return (width() + block - 1) / block; }
  CORTADO_FN i64 lines() const {
    i64 n = blocks();
    for (int d = 0; d + 1 < window_axes; ++d) n *= size[d];
    return n;
  }
  /// The begin of a line in the whole array, and in the window alone.
  CORTADO_FN i64 outside(i64 line) const {
    i64 row = line / blocks(), at = 0, pitch = extent[window_axes - 1];
    for (int d = window_axes - 2; d >= 0; --d) {
      at += (origin[d] + row % size[d]) * pitch;
      pitch *= extent[d];
      row /= size[d];
    }
    return at + origin[window_axes - 1] + line % blocks() * block;
  }
  CORTADO_FN i64 inside(i64 line) const { return line / blocks() * width() + line % blocks() * block; }
  CORTADO_FN i64 count(i64 line) const { return math::min(block, width() - line % blocks() * block); }
};

/// The window of `whole` becomes the dense `part`; or the part goes back to its place, if `back`.
struct CopyWindow {
  static constexpr const char* label = "copy_window";
  CropWindow w;
  const float* from;
  float* to;
  bool back;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const CopyWindow p = *this;
    const auto fetch = [&](i64 i) {
      return c.get(p.from_buf, p.from + (p.back ? p.w.inside(i) : p.w.outside(i)), p.w.count(i));
    };
    c.lines(p.w.lines(), Depth::two, fetch, [&](i64 i, auto& from) {
      auto to = c.out(p.to_buf, p.to + (p.back ? p.w.outside(i) : p.w.inside(i)), from.n);
      c.each(from.n, [&](i64 j) { to.set(j, from[j]); });
      c.put(to);
    });
  }
};

}  // namespace cortado
