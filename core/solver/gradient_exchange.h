#pragma once
#include "core/net/net.h"

namespace cortado {

/// How replicas agree on gradients; strategies live in comm, the solver does not know which one runs. Collective.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  /// Called while backward runs, when the gradients of layer `index` are queued. May start communication.
  virtual void layer_finished(Net& /*net*/, std::size_t /*index*/) {}
  /// Called after backward: on return the net's gradient arena holds the mean over replicas, on every rank.
  virtual void finish(Net& net) = 0;
};

/// One process: nothing to exchange.
class NoExchange : public GradientExchange {
 public:
  void finish(Net&) override {}
};

}  // namespace cortado
