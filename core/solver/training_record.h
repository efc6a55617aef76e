#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/types.h"

namespace cortado {

class Net;

/// A net's output, or an element of it: the mean over passes.
struct OutputScore {
  std::string name;
  double value;
  double loss_weight;
};

/// Takes notes of a training while it goes on. The solver calls it on rank 0 alone, and only within Solver::solve. An
/// error that it throws ends the training, as one of a snapshot does.
class TrainingRecord {
 public:
  virtual ~TrainingRecord() = default;

  /// Training begins at this iteration; above 0 it goes on from a snapshot. The prefix of snapshots is held already.
  virtual void begin(const Net& net, i64 iteration) = 0;

  /// An iteration that is done, numbered from 0 as in the log.
  struct Iteration {
    i64 number;
    double loss;     ///< mean over ranks, not smoothed
    double rate;     ///< the learning rate of its update
    double images;   ///< of all ranks; 0 means that the net has no batch
    double seconds;  ///< without tests and snapshots
    /// Seconds of `seconds` in which rank 0 waited for the slowest rank, and in which it exchanged gradients or
    /// waited for them.
    double waited_for_ranks, exchanged;
    /// The log's loss and outputs, in the iterations that it shows; nullptr in the others.
    const double* smoothed_loss;
    const std::vector<OutputScore>* outputs;
  };
  virtual void trained(const Iteration& iteration) = 0;

  /// A test net has been run, after so many iterations.
  virtual void tested(i64 iteration, std::size_t net, double seconds, const std::vector<OutputScore>& outputs) = 0;

  /// Training ends; `early` means that a signal stopped it.
  virtual void end(i64 iteration, bool early) = 0;
};

}  // namespace cortado
