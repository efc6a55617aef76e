#pragma once
#include <atomic>

#include "core/data/batch_source.h"

namespace cortado {

/// Opens what another opener opens, and adds up the time for which core group 0 waited for batches of training.
class WatchedSources : public SourceOpener {
 public:
  explicit WatchedSources(const SourceOpener& opener) : opener_(opener) {}
  std::unique_ptr<BatchSource> open(const BatchRequest& request, CoreGroup& group) const override;
  /// The seconds since the first call, or the last one.
  double take_seconds() { return waited_.exchange(0); }

 private:
  const SourceOpener& opener_;
  mutable std::atomic<double> waited_{0};
};

}  // namespace cortado
