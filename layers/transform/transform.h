#pragma once
#include "core/machine/core_group.h"
#include "core/tensor/blob.h"

namespace cortado {

/// How the values of a batch of images lie in memory, outermost first: Caffe's order; rows, columns, channels, batch
/// (swCaffe's implicit plan, section IV-B2); or channels in blocks of 8 or 16, innermost, the last block filled up with
/// zeros: value (n, c, h, w) is at (((n blocks + c / 8) H + h) W + w) 8 + c mod 8.
enum class Layout { nchw, hwcn, nchw8c, nchw16c };
const char* to_string(Layout layout);

/// Channels that stand together: 8 or 16; 1 where they do not.
i64 channel_block(Layout layout);
/// Floats of an array of `shape` (N x C x H x W) in a layout, with the zeros that fill up channel blocks.
i64 floats_of(Layout layout, const Shape& shape);

/// Queues the change of layout of x into y, which are arrays of their own (swCaffe section IV-C). Throws PlanError
/// unless just one of the layouts is nchw.
void transform(CoreGroup& group, Layout from, Layout to, const Shape& shape, const float* x, float* y);

}  // namespace cortado
