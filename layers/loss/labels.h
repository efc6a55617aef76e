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

/// What is wrong with a batch's labels, of which each sample has `per_sample`: the first that the rule does not allow,
/// its sample in the batch and since training began, where the batch's first is number `first`, and how many there
/// are. Empty where all are good.
std::string wrong_labels(const std::vector<float>& labels, const LabelRule& rule, i64 per_sample, i64 first);

/// For an error about them.
constexpr const char* label_advice = "check the data set's labels, or the number of outputs below";

}  // namespace cortado
