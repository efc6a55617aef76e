#pragma once
#include "core/base/types.h"

namespace cortado {

/// The number of parts of `by` things that n things make; the last may be short.
CORTADO_FN inline i64 ceil_div(i64 n, i64 by) { return (n + by - 1) / by; }

/// The smallest multiple of `to` that is not below n.
CORTADO_FN inline i64 round_up(i64 n, i64 to) { return ceil_div(n, to) * to; }

/// The size of the smallest equal parts of n that are as few as parts of `most` are; below 1, `most` counts as 1.
CORTADO_FN inline i64 even_part(i64 n, i64 most) { return ceil_div(n, ceil_div(n, most < 1 ? 1 : most)); }

}  // namespace cortado
