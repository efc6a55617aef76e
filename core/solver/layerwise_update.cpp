#include "core/solver/layerwise_update.h"

#include <utility>

#include "core/base/clock.h"
#include "core/net/current_work.h"

namespace cortado {

LayerwiseUpdate::LayerwiseUpdate(Net& net, CoreGroup& group, Optimizer& optimizer, GradientExchange& exchange,
                                 Timeline* timeline, std::string lane)
    : net_(net),
      group_(group),
      optimizer_(optimizer),
      exchange_(exchange),
      timeline_(timeline),
      lane_(std::move(lane)),
      read_by_(net.learnables_read()) {}

void LayerwiseUpdate::begin(Optimizer::Step step) {
  step_ = std::move(step);
  left_ = net_.learnable().size();
  is_old_.assign(left_, true);
}

void LayerwiseUpdate::before_layer(std::size_t index) {
  if (is_complete()) return;
  const std::string& layer = net_.layers()[index].layer->name();
  for (const std::size_t learnable : read_by_[index]) {
    if (!is_old_[learnable]) continue;
    {
      const TimelineSpan span(timeline_, lane_, "gradients of " + layer, "exchange");
      wait_for_gradients(learnable);
    }
    const TimelineSpan span(timeline_, lane_, layer, "update");
    update(learnable);
    if (timeline_ != nullptr) group_.wait();
  }
}

void LayerwiseUpdate::complete() {
  for (std::size_t i = 0; i < is_old_.size() && !is_complete(); ++i) {
    if (!is_old_[i]) continue;
    wait_for_gradients(i);
    update(i);
  }
}

void LayerwiseUpdate::wait_for_gradients(std::size_t learnable) {
  const Net::Learnable& of = net_.learnable()[learnable];
  if (of.division != nullptr) return;
  const auto begin = Clock::now();
  exchange_.wait_for(net_, of.arena_offset, of.blob->count());
  waited_ += seconds_since(begin);
}

void LayerwiseUpdate::update(std::size_t learnable) {
  const WorkScope work({"update", &net_.learnable()[learnable].layer});
  optimizer_.update(step_, learnable);
  is_old_[learnable] = false;
  --left_;
}

}  // namespace cortado
