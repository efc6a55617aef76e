#pragma once
#include <memory>
#include <string>

#include "core/net/net.h"

namespace caffe {
class SolverParameter;
class SolverState;
}  // namespace caffe

namespace cortado {

/// Stochastic gradient descent with momentum: turns a net's gradients into new weights on the cluster, and keeps the
/// momentum ("history"), one value per learnable value, laid out as the net's arenas.
class SgdSolver {
 public:
  /// Borrows all three. The history begins with zeros.
  SgdSolver(const caffe::SolverParameter& parameter, Net& net, CoreGroup& group);

  /// One update. `scale` makes the gradient arena the mean over replicas; division by iter_size, clipping (in this
  /// order in Caffe: clip, then divide), decay and momentum happen here. Running statistics are left alone.
  void update(i64 iteration, float scale);

  const std::shared_ptr<Storage>& history() const { return history_; }

  /// The history of every learnable blob, in the net's order, as Caffe stores it. Waits.
  void write_history(caffe::SolverState& state) const;
  /// Throws FileError naming `file` when the number of blobs or a shape is not the net's.
  void read_history(const caffe::SolverState& state, const std::string& file);

 private:
  /// Factor that brings the L2 norm of `scale` times the gradients down to clip_gradients, 1 if it is below.
  float clip(float scale) const;

  const caffe::SolverParameter& parameter_;
  Net& net_;
  CoreGroup& group_;
  std::shared_ptr<Storage> history_;
};

}  // namespace cortado
