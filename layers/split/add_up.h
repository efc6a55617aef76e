#pragma once
#include <vector>

#include "core/machine/core_group.h"

namespace cortado {

/// to = the sum of two arrays or more, in their order: `rows` rows of `width` elements, which in the arrays begin
/// `pitch` elements apart. `to` is dense.
template <class T>
void add_up(CoreGroup& group, const std::vector<const T*>& from, i64 pitch, T* to, i64 rows, i64 width);

}  // namespace cortado
