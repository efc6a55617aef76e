#pragma once
#include <string>
#include <vector>

#include "comm/predict/master_training.h"

namespace cortado {

/// ScaleDNN's evaluation on four devices (figures 3, 10, 12 and 15), simulated with the machine, the nets and the rates
/// of models/published/scalednn.json below the current folder.
struct ScaleDnn {
  struct Run {
    std::string net;
    i64 batch;
    bool is_large;                                            ///< a large model, as the paper counts
    MasterIteration baseline, preloaded, bf16, three_in_one;  ///< the last two preload too
    MasterIteration one_device, two_devices;                  ///< the baseline
  };
  /// A number that the paper prints, and ours.
  struct Comparison {
    std::string what;
    double ours, printed;
  };
  std::string source;
  std::vector<Run> runs;
  std::vector<Comparison> comparisons;
};

/// Simulates all runs. Throws FileError.
ScaleDnn simulate_scalednn();

}  // namespace cortado
