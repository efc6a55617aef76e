#pragma once
#include <string>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// The numbers that labels may be: whole ones in [0, classes), and the ignored one.
struct LabelRule {
  i64 classes = 1;
  bool ignores = false;
  int ignored = 0;
  bool ignores_label(float label) const { return ignores && label == static_cast<float>(ignored); }
  bool allows(float label) const;
};

/// The mistake in a batch's labels, of which each sample has `per_sample`; empty where all are good. It names the first
/// label that the rule does not allow, its sample in the batch and since training began. It counts such labels. `first`
/// is the number of the batch's first sample since training began.
std::string wrong_labels(const std::vector<float>& labels, const LabelRule& rule, i64 per_sample, i64 first);

/// The first value that is no index below `count`, as "value 3 is 7, no whole number from 0 to 4"; empty where all are.
std::string wrong_index(const std::vector<float>& values, i64 count);

/// The advice of errors about labels.
constexpr const char* label_advice = "check the data set's labels, or the number of outputs below";

}  // namespace cortado
