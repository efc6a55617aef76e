#pragma once
#include "core/machine/core_group.h"

namespace cortado {

/// Queues a copy of `rows` lines of `width` values between arrays whose lines lie apart by their pitches.
template <class T>
void copy_rows(CoreGroup& group, const T* from, i64 from_pitch, T* to, i64 to_pitch, i64 rows, i64 width);

}  // namespace cortado
