#pragma once
#include "core/net/net.h"

namespace cortado {

/// How replicas agree on gradients; strategies live in comm, the solver does not know which one runs. Collective.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  /// Called while the last backward of an iteration runs, when the gradients of layer `index` are queued. May start
  /// communication.
  virtual void layer_finished(Net& /*net*/, std::size_t /*index*/) {}
  /// Called after backward. On return the net's gradient arena, multiplied by the factor returned, is the mean over
  /// replicas, with the same bits on every rank. The factor saves a pass over memory: the update multiplies anyway.
  virtual float finish(Net& net) = 0;
};

/// One process: nothing to exchange.
class NoExchange : public GradientExchange {
 public:
  float finish(Net& /*net*/) override { return 1; }
};

}  // namespace cortado
