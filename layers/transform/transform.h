#pragma once
#include "core/base/layout.h"
#include "core/machine/core_group.h"
#include "core/tensor/blob.h"

namespace cortado {

/// The floats of an array of `shape` (N x C x H x W) in a layout, with the zeros that fill up channel blocks.
i64 floats_of(Layout layout, const Shape& shape);

/// Queues the change of layout of x into y, which are separate arrays (swCaffe section IV-C). Throws PlanError unless
/// just one of the layouts is nchw, and for bf16 in hwcn.
template <class T>
void transform(CoreGroup& group, Layout from, Layout to, const Shape& shape, const T* x, T* y);

}  // namespace cortado
