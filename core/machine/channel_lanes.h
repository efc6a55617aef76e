#pragma once
#include "core/base/layout.h"
#include "core/machine/program.h"

namespace cortado {

/// The array of height x width pixels whose columns are lanes: a pixel's values of sixteen channels, or of the
/// `channels` that are left, the first of which begins at `base`. Images and what of them is wanted are the caller's to
/// say.
template <class T>
CORTADO_FN Box<T> channel_lanes(const T* base, Layout layout, i64 height, i64 width, i64 channels) {
  const bool blocks = layout == Layout::nchw16c;
  const i64 pixel = channel_block(layout);
  Box<T> box;
  box.base = base;
  const i64 extent[4] = {1, height, width, blocks ? block_channels : channels},
            pitch[4] = {0, width * pixel, pixel, blocks ? 1 : height * width};
  box.set(extent, pitch, box.origin, box.size);
  return box;
}

/// The part of that array with these rows and columns of pixels and all sixteen lanes; zero outside.
template <class T>
CORTADO_FN Box<T> channel_lanes(const T* base, Layout layout, i64 height, i64 width, i64 channels, Range rows,
                                Range cols) {
  Box<T> box = channel_lanes(base, layout, height, width, channels);
  const i64 origin[4] = {0, rows.first, cols.first, 0}, size[4] = {1, rows.count(), cols.count(), block_channels};
  box.place(origin, size);
  return box;
}

/// The other way: `pixels` pixels of sixteen channels, to be written in full, that go to `to` and what follows; in
/// blocks, or to planes `plane` apart of which `channels` are there.
template <bool blocks, class C, class T>
CORTADO_FN auto out_lanes(C& c, Buf buf, T* to, i64 pixels, i64 plane, i64 channels) {
  if constexpr (blocks)
    return c.out2d(buf, to, pixels, block_channels, block_channels);
  else
    return c.out_turned(buf, to, pixels, block_channels, plane, channels);
}

/// Books what out_lanes writes: lanes that go to memory as they are, or are turned first.
template <class T>
Buf book_out_lanes(PlanBuilder& builder, Layout layout, const char* name, i64 pixels) {
  const i64 values = pixels * block_channels;
  return layout == Layout::nchw16c ? builder.line<T>(name, values, 1) : builder.tile<T>(name, values, 1);
}

}  // namespace cortado
