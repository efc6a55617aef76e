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

/// The other way: `pixels` pixels of sixteen channels, to be written in full, that go to `to` and what follows; in
/// blocks, or to planes `plane` apart of which `channels` are there.
template <bool blocks, class C, class T>
CORTADO_FN auto out_lanes(C& c, Buf buf, T* to, i64 pixels, i64 plane, i64 channels) {
  if constexpr (blocks)
    return c.out2d(buf, to, pixels, block_channels, block_channels);
  else
    return c.out_turned(buf, to, pixels, block_channels, plane, channels);
}

}  // namespace cortado
