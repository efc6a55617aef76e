#pragma once
#include <cmath>
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

struct Accuracy {
  i64 outer, classes, inner;
  int top_k = 1;
  bool ignores = false;
  int ignored = 0;

  /// Overall first, then per class.
  std::vector<float> means(const std::vector<float>& scores, const std::vector<float>& labels) const {
    std::vector<double> hits(static_cast<std::size_t>(classes) + 1), counts(hits.size());
    for (i64 o = 0; o < outer; ++o)
      for (i64 i = 0; i < inner; ++i) {
        const i64 l = static_cast<i64>(labels[static_cast<std::size_t>(o * inner + i)]);
        if (ignores && l == ignored) continue;
        const auto score = [&](i64 k) { return scores[static_cast<std::size_t>((o * classes + k) * inner + i)]; };
        int others = 0;
        for (i64 k = 0; k < classes; ++k) others += k != l && !(score(k) < score(l)) ? 1 : 0;
        if (std::isnan(score(l))) others = top_k;
        for (const std::size_t at : {std::size_t{0}, static_cast<std::size_t>(l) + 1}) {
          hits[at] += others < top_k ? 1 : 0;
          counts[at] += 1;
        }
      }
    std::vector<float> result;
    for (std::size_t k = 0; k < hits.size(); ++k)
      result.push_back(counts[k] > 0 ? static_cast<float>(hits[k] / counts[k]) : 0.0f);
    return result;
  }
};

}  // namespace cortado::oracle
