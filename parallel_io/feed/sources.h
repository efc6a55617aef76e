#pragma once
#include <functional>
#include <utility>

#include "core/base/timeline.h"
#include "core/data/batch_source.h"
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// The readers of this folder, for data layers.
class Sources : public SourceOpener {
 public:
  /// Gets every data set that core group 0 opens.
  using Opened = std::function<void(const DataSet& set)>;
  /// `timeline`, which may be null, gets what the readers do.
  explicit Sources(Timeline* timeline = nullptr, Opened opened = {})
      : timeline_(timeline), opened_(std::move(opened)) {}
  std::unique_ptr<BatchSource> open(const BatchRequest& request, CoreGroup& group) const override;

 private:
  void tell(const DataSet& set, const CoreGroup& group) const;

  Timeline* const timeline_;
  const Opened opened_;
};

}  // namespace cortado
