#pragma once
#include <vector>

#include "app/plots/chart.h"
#include "app/record/saved_run.h"

namespace cortado {

/// Charts of runs laid over each other: loss, error of tests, learning rate, images per second, other outputs of
/// tests, waits, memory. Those for which no run has values are left out.
std::vector<Plot> curves_of(const std::vector<SavedRun>& runs);

/// A run's colour, of eight, in summary and charts.
int tone_of_run(std::size_t run);

}  // namespace cortado
