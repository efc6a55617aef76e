#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <vector>

#include "core/solver/solver.h"
#include "layers/all_layers.h"
#include "parallel_io/feed/sources.h"

namespace cortado::test {

/// Options of a solver of the tree's layers, on data in files.
inline SolverOptions learner_options(CoreGroup& group) {
  static const LayerTable layers = all_layers();
  static const Sources sources;
  SolverOptions options;
  options.group = &group;
  options.layers = &layers;
  options.sources = &sources;
  return options;
}

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
