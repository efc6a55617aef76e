#pragma once
#include <string>

#include "core/machine/core_group.h"
#include "layers/convolution/shape.h"

namespace cortado {

/// Why im2col or col2im of a shape does not fit a scratchpad; empty if it does.
std::string refuse_im2col(const MachineSpec& spec, const ConvolutionShape& s);
std::string refuse_col2im(const MachineSpec& spec, const ConvolutionShape& s);

/// Queues the columns of `images` of x: images x (ic kh kw) x (oh ow). `by_rows`: a row at a time, and every transfer
/// is waited for, as published.
void run_im2col(CoreGroup& group, const ConvolutionShape& s, const float* x, i64 images, float* columns, bool by_rows);
/// Queues x = the sums of what lies in columns (gradients of columns to gradients of images).
void run_col2im(CoreGroup& group, const ConvolutionShape& s, const float* columns, i64 images, float* x, bool by_rows);

}  // namespace cortado
