#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <vector>

#include "core/solver/solver.h"

namespace cortado::test {

/// Trains for `iterations` and expects the sum of the last `few` losses below `falls_to` times that of the first.
inline void expect_learns(Solver& solver, int iterations, std::ptrdiff_t few, double falls_to) {
  std::vector<double> losses;
  for (int i = 0; i < iterations; ++i) {
    solver.step(1);
    losses.push_back(solver.last_loss());
  }
  const double first = std::accumulate(losses.begin(), losses.begin() + few, 0.0);
  const double last = std::accumulate(losses.end() - few, losses.end(), 0.0);
  EXPECT_LT(last, falls_to * first) << "from " << losses.front() << " to " << losses.back();
}

}  // namespace cortado::test
