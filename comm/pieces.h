#pragma once
#include <algorithm>

#include "core/base/types.h"

namespace cortado {

/// Calls part(first, count) for consecutive pieces of 0..n-1 whose counts fit MPI's int.
template <class Part>
void in_pieces(i64 n, Part part) {
  constexpr i64 longest = i64{1} << 30;
  for (i64 first = 0; first < n; first += longest) part(first, static_cast<int>(std::min(longest, n - first)));
}

}  // namespace cortado
