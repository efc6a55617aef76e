#pragma once
#include <optional>
#include <vector>

#include "core/net/net.h"

namespace cortado {

/// A strategy by which replicas come to the same weights; comm has several. Without a master, all replicas get the mean
/// gradient and update. With a master, rank 0 alone updates, and the others get its weights. All calls are collective.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  /// True if rank 0 alone updates. All ranks return the same.
  virtual bool has_master() const { return false; }
  /// The part of the arenas that this replica alone updates; nothing means that there are no parts. Parts begin at
  /// multiples of Net::arena_alignment and make up the arenas. finish gives each replica the mean of its own part
  /// alone, and share_weights the weights of the others'.
  virtual std::optional<Net::Range> own_part(const Net& /*net*/) const { return std::nullopt; }
  /// The solver calls this in an iteration's last backward, when the gradients of layer `index` are queued. It may
  /// start communication.
  virtual void layer_finished(Net& /*net*/, std::size_t /*index*/) {}
  /// The solver calls this after backward. Afterwards the net's gradient arena, times the returned factor, is the mean
  /// over replicas, with the same bits on every rank. With a master, only rank 0 has the mean; the others' arenas are
  /// undefined. The factor saves a pass over memory, because the update multiplies anyway.
  virtual float finish(Net& net) = 0;
  /// True if `start` leaves gradients on their way and `wait_for` waits for them. Both together do what finish does.
  virtual bool comes_in_parts() const { return false; }
  /// The solver calls this instead of finish. It returns finish's factor.
  virtual float start(Net& net) { return finish(net); }
  /// After start and this call, gradients [first, first + count) of the arena are what finish makes them. The solver
  /// waits for the whole arena before the next backward.
  virtual void wait_for(Net& /*net*/, i64 /*first*/, i64 /*count*/) {}
  /// The solver calls this when the master, or each own part, has new weights: from an update, a file, or fillers.
  /// Afterwards all replicas compute with the same weights, which may have fewer bits than the master's. Running
  /// statistics stay every rank's own.
  virtual void share_weights(Net& /*net*/) {}
  /// The solver calls this before the master updates or writes its weights. Afterwards the master's net holds its
  /// weights with all bits, until share_weights.
  virtual void restore_weights(Net& /*net*/) {}
  /// The values that this replica keeps from one iteration to the next, for snapshots. Error feedback is such values.
  virtual std::vector<float> residuals() const { return {}; }
  /// Sets the values that residuals() returned in another run. Returns false, and changes nothing, if they belong to
  /// another net, codec, exchange or number of replicas.
  virtual bool restore_residuals(Net& /*net*/, const std::vector<float>& values) { return values.empty(); }
};

/// The exchange of a single process, which does nothing.
class NoExchange : public GradientExchange {
 public:
  float finish(Net& /*net*/) override { return 1; }
};

}  // namespace cortado
