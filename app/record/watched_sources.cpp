#include "app/record/watched_sources.h"

#include "core/base/clock.h"

namespace cortado {
namespace {
class WatchedSource : public BatchSource {
 public:
  WatchedSource(std::unique_ptr<BatchSource> source, std::atomic<double>& waited)
      : source_(std::move(source)), waited_(waited) {}
  const std::vector<Shape>& sample_shapes() const override { return source_->sample_shapes(); }
  i64 samples() const override { return source_->samples(); }
  std::shared_ptr<const Batch> take(i64 first, i64 stride) override {
    const auto begin = Clock::now();
    auto batch = source_->take(first, stride);
    waited_ = waited_ + seconds_since(begin);  // no other thread adds to it
    return batch;
  }
  std::shared_ptr<const Batch> take_if_ready() override { return source_->take_if_ready(); }
  Statistics statistics() const override { return source_->statistics(); }

 private:
  const std::unique_ptr<BatchSource> source_;
  std::atomic<double>& waited_;
};
}  // namespace

std::unique_ptr<BatchSource> WatchedSources::open(const BatchRequest& request, CoreGroup& group) const {
  auto source = opener_.open(request, group);
  if (!request.training || group.index() != 0) return source;
  return std::make_unique<WatchedSource>(std::move(source), waited_);
}

}  // namespace cortado
