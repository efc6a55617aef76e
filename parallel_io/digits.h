#pragma once
#include "core/base/types.h"
#include "parallel_io/image.h"

namespace cortado {

/// Draws sample `number` of the generated digits: 28 x 28 grey, the strokes of digit `number` mod 10 with every corner
/// moved a little, under a random affine map, drawn with a random pen, with specks, stray lines and noise. A function
/// of (seed, number) alone. Hard enough that a linear classifier fails on one in five or more.
Image draw_digit(std::uint64_t seed, i64 number);
inline int digit_label(i64 number) { return static_cast<int>(number % 10); }

}  // namespace cortado
