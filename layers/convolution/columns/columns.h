#pragma once
#include "core/machine/planned.h"
#include "layers/convolution/columns/programs.h"
#include "layers/convolution/shape.h"

namespace cortado {

/// Plans of im2col and col2im on `images` images. Im2col turns x into columns, images x (ic kh kw) x (oh ow). Col2im
/// sums columns into x, gradients of columns into gradients of images. `by_rows` takes a row at a time and waits for
/// every transfer, as published. If one row does not fit a scratchpad, `refused` gets the reason, as in `planned`.
Planned<Im2col> plan_im2col(const MachineSpec& spec, const ConvolutionShape& s, i64 images, bool by_rows,
                            std::string& refused);
Planned<Col2im> plan_col2im(const MachineSpec& spec, const ConvolutionShape& s, i64 images, bool by_rows,
                            std::string& refused);

}  // namespace cortado
