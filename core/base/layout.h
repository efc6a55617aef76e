#pragma once
#include "core/base/types.h"

namespace cortado {

/// How the values of a batch of images lie in memory, outermost first: Caffe's order; rows, columns, channels, batch
/// (swCaffe's implicit plan, section IV-B2); or channels in blocks of 8 or 16, innermost, the last block filled up with
/// zeros: value (n, c, h, w) is at (((n blocks + c / 8) H + h) W + w) 8 + c mod 8. Blobs are nchw or, where sixteen
/// divides their channels, nchw16c; either way a group of sixteen channels begins at the same place.
enum class Layout { nchw, hwcn, nchw8c, nchw16c };

inline const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::nchw: return "nchw";
    case Layout::hwcn: return "hwcn";
    case Layout::nchw8c: return "nchw8c";
    case Layout::nchw16c: return "nchw16c";
  }
  return "";
}

/// Channels of blobs' blocks.
constexpr i64 block_channels = 16;

/// Channels that stand together: 8 or 16; 1 where they do not.
CORTADO_FN inline i64 channel_block(Layout layout) {
  return layout == Layout::nchw16c ? block_channels : layout == Layout::nchw8c ? 8 : 1;
}

}  // namespace cortado
