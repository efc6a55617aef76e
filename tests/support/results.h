#pragma once
#include "tests/support/layer_rig.h"

namespace cortado::test {

/// Everything that a pass computes, blob by blob.
using Results = std::vector<std::vector<float>>;

inline void expect_same(const Results& actual, const Results& expected, float absolute, float relative) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) expect_near(actual[i], expected[i], absolute, relative);
}

}  // namespace cortado::test
