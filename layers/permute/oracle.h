#pragma once
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// Element i of the result is element source[i] of an array of `shape`, whose axis order[d] is the result's axis d.
inline std::vector<std::size_t> permuted(const std::vector<i64>& shape, const std::vector<int>& order) {
  std::vector<std::size_t> source;
  i64 count = 1;
  for (const i64 n : shape) count *= n;
  for (i64 i = 0; i < count; ++i) {
    i64 rest = i;
    std::vector<i64> at(shape.size());
    for (std::size_t d = shape.size(); d-- > 0;) {
      const auto of = static_cast<std::size_t>(order[d]);
      at[of] = rest % shape[of];
      rest /= shape[of];
    }
    i64 place = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + at[d];
    source.push_back(static_cast<std::size_t>(place));
  }
  return source;
}

}  // namespace cortado::oracle
