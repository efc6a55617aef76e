#pragma once
#include "core/base/types.h"

namespace cortado {

/// The order of a batch of images in memory, outermost dimension first. - nchw is Caffe's order.
/// - hwcn is rows, columns, channels, batch (swCaffe's implicit plan, section IV-B2).
/// - nchw8c and nchw16c have blocks of 8 or 16 channels innermost, the last block filled up with zeros. In nchw8c,
/// value
///   (n, c, h, w) is at (((n blocks + c / 8) H + h) W + w) 8 + c mod 8.
/// Blobs are nchw or, if sixteen divides their channels, nchw16c. Either way a channel block of sixteen begins at the
/// same place.
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

/// The channels of a blob's channel block.
constexpr i64 block_channels = 16;

/// The channels that lie innermost: 8 or 16, or 1 in layouts without blocks.
CORTADO_FN inline i64 channel_block(Layout layout) {
  return layout == Layout::nchw16c ? block_channels : layout == Layout::nchw8c ? 8 : 1;
}

}  // namespace cortado
