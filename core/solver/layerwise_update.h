#pragma once
#include <string>
#include <vector>

#include "core/base/timeline.h"
#include "core/solver/gradient_exchange.h"
#include "core/solver/optimizer.h"

namespace cortado {

/// The update of a net's parameters, which may begin while gradients are still on their way between replicas and go on
/// in the next forward: what a layer reads becomes new before it runs. So what travels hides behind that forward too.
class LayerwiseUpdate {
 public:
  /// Borrows all. `timeline`, if not null, gets in `lane` what `before_layer` waits for and does.
  LayerwiseUpdate(Net& net, CoreGroup& group, Optimizer& optimizer, GradientExchange& exchange, Timeline* timeline,
                  std::string lane);

  /// After the exchange's start or finish.
  void begin(Optimizer::Step step);
  /// Updates what layer `index` reads in its forward.
  void before_layer(std::size_t index);
  /// Updates all that is left: before anything but that forward looks at weights, histories or gradients.
  void complete();
  bool is_complete() const { return left_ == 0; }

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
  std::size_t left_ = 0;      ///< of them, those that are old
};

}  // namespace cortado
