#pragma once
#include "core/machine/planned.h"
#include "layers/convolution/columns/programs.h"
#include "layers/convolution/shape.h"

namespace cortado {

/// Im2col: x to columns, images x (ic kh kw) x (oh ow); col2im: x = the sums of what lies in columns, gradients of
/// columns to gradients of images. Of so many images; `by_rows`: a row at a time, and every transfer is waited for, as
/// published. Where one row does not fit a scratchpad, `refused` gets the reason, as in `planned`.
Planned<Im2col> plan_im2col(const MachineSpec& spec, const ConvolutionShape& s, i64 images, bool by_rows,
                            std::string& refused);
Planned<Col2im> plan_col2im(const MachineSpec& spec, const ConvolutionShape& s, i64 images, bool by_rows,
                            std::string& refused);

}  // namespace cortado
