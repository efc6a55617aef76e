#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/base/timeline.h"
#include "core/solver/gradient_exchange.h"
#include "core/solver/optimizer.h"

namespace cortado {

/// The update of a net's parameters, layer by layer. It may begin while gradients are still on their way between
/// replicas, and go on in the next forward. Every parameter is new before a layer reads it. So that forward hides
/// communication too.
class LayerwiseUpdate {
 public:
  /// Borrows all. `timeline` records in `lane` the waits and updates of `before_layer`; nullptr means no record.
  LayerwiseUpdate(Net& net, CoreGroup& group, Optimizer& optimizer, GradientExchange& exchange, Timeline* timeline,
                  std::string lane);

  /// Begins an update, after the exchange's start or finish.
  void begin(Optimizer::Step step);
  /// Updates the parameters that layer `index` reads in forward.
  void before_layer(std::size_t index);
  /// Updates all other parameters. It comes before anything but that forward reads weights, histories or gradients.
  void complete();
  bool is_complete() const { return left_ == 0; }
  /// The seconds that this thread has waited for gradients since it was asked last.
  double take_waited() { return std::exchange(waited_, 0); }

 private:
  void update(std::size_t learnable);
  void wait_for_gradients(std::size_t learnable);

  Net& net_;
  CoreGroup& group_;
  Optimizer& optimizer_;
  GradientExchange& exchange_;
  Timeline* const timeline_;
  const std::string lane_;
  const std::vector<std::vector<std::size_t>> read_by_;  ///< Net::learnables_read
  Optimizer::Step step_;
  std::vector<bool> is_old_;  ///< by learnable
  std::size_t left_ = 0;      ///< the number of old ones
  double waited_ = 0;         ///< seconds
};

}  // namespace cortado
