#pragma once
#include <vector>

#include "core/net/net.h"

namespace cortado {

/// How replicas come to the same weights; strategies live in comm, the solver does not know which one runs. Either all
/// replicas get the mean gradient and update, or rank 0 alone does, the master, and hands out its weights. Collective.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  /// Whether rank 0 alone updates. The same on all ranks.
  virtual bool has_master() const { return false; }
  /// Called while the last backward of an iteration runs, when the gradients of layer `index` are queued. May start
  /// communication.
  virtual void layer_finished(Net& /*net*/, std::size_t /*index*/) {}
  /// Called after backward. On return the net's gradient arena, multiplied by the factor returned, is the mean over
  /// replicas, with the same bits on every rank; where there is a master, on that alone, and undefined on others. The
  /// factor saves a pass over memory: the update multiplies anyway.
  virtual float finish(Net& net) = 0;
  /// Whether `start` leaves gradients under way, for which `wait_for` waits: together they do what finish does.
  virtual bool comes_in_parts() const { return false; }
  /// Called in finish's place, and returns its factor.
  virtual float start(Net& net) { return finish(net); }
  /// After start, on return the gradients [first, first + count) of the arena are what finish makes them. Before the
  /// next backward everything has to be waited for.
  virtual void wait_for(Net& /*net*/, i64 /*first*/, i64 /*count*/) {}
  /// Called when the master's weights are new: by an update, a file, or fillers. On return all replicas compute with
  /// the same weights, which may have fewer bits than the master's. Running statistics stay everybody's own.
  virtual void share_weights(Net& /*net*/) {}
  /// Before the master updates its weights or writes them: its net holds them in full until they are shared again.
  virtual void restore_weights(Net& /*net*/) {}
  /// For snapshots: what this replica keeps from one iteration for the next, such as what its codes left out.
  virtual std::vector<float> residuals() const { return {}; }
  /// Goes on from what residuals() returned in another run. Returns false, and changes nothing, when that was of
  /// another net, codec, exchange or number of replicas.
  virtual bool restore_residuals(Net& /*net*/, const std::vector<float>& values) { return values.empty(); }
};

/// One process: nothing to exchange.
class NoExchange : public GradientExchange {
 public:
  float finish(Net& /*net*/) override { return 1; }
};

}  // namespace cortado
