#pragma once
#include "core/base/timeline.h"
#include "core/data/batch_source.h"
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// The readers of this folder, for data layers.
class Sources : public SourceOpener {
 public:
  /// `timeline`, which may be null, gets what the readers do.
  explicit Sources(Timeline* timeline = nullptr) : timeline_(timeline) {}
  std::unique_ptr<BatchSource> open(const BatchRequest& request, CoreGroup& group) const override;

 private:
  Timeline* const timeline_;
};

/// The data set alone that a request wants. `cache_bytes` as OpenOptions has it. Throws FileError, ConfigError.
std::unique_ptr<DataSet> open_data(const BatchRequest& request, i64 cache_bytes);

}  // namespace cortado
