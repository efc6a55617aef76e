#pragma once
#include "core/base/types.h"

namespace cortado {

/// The order of a batch of images in memory. All but one are told by their channel block, the channels that lie
/// innermost: value (n, c, h, w) is at (((n blocks + c / block) H + h) W + w) block + c mod block, and the last block
/// of an image is filled up with zeros.
/// - nchw is Caffe's order, of planes: blocks of one channel.
/// - nchw16c has blocks of sixteen.
/// - nhwc has one block of all channels.
/// - hwcn is the exception: rows, columns, channels, batch (swCaffe's implicit plan, section IV-B2).
/// Blobs that layers exchange are nchw or, if sixteen divides their channels, nchw16c. Either way a group of sixteen
/// channels begins at the same place.
enum class Layout { nchw, hwcn, nchw16c, nhwc };

inline const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::nchw: return "nchw";
    case Layout::hwcn: return "hwcn";
    case Layout::nchw16c: return "nchw16c";
    case Layout::nhwc: return "nhwc";
  }
  return "";
}

/// The channels of nchw16c's blocks.
constexpr i64 block_channels = 16;

/// The channel block of an array of so many channels.
CORTADO_FN inline i64 channel_block(Layout layout, i64 channels) {
  return layout == Layout::nchw16c ? block_channels : layout == Layout::nhwc ? channels : 1;
}
/// The same of a blob between layers, whose block does not depend on its channels.
CORTADO_FN inline i64 channel_block(Layout layout) { return channel_block(layout, 1); }

}  // namespace cortado
