#pragma once
#include "core/base/timeline.h"
#include "core/data/batch_source.h"
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// The readers of this folder, for data layers.
class Sources : public SourceOpener {
 public:
  /// `timeline` records the readers' work; nullptr means no record.
  explicit Sources(Timeline* timeline = nullptr) : timeline_(timeline) {}
  std::unique_ptr<BatchSource> open(const BatchRequest& request, CoreGroup& group) const override;

 private:
  Timeline* const timeline_;
};

/// Opens what Sources opens and reads no sample of it. Batches have memory and no values.
class ShapesOnly : public SourceOpener {
 public:
  std::unique_ptr<BatchSource> open(const BatchRequest& request, CoreGroup& group) const override;
};

/// Opens the data set of a request. `cache_bytes` as in OpenOptions. Throws FileError, ConfigError.
std::unique_ptr<DataSet> open_data(const BatchRequest& request, i64 cache_bytes);

}  // namespace cortado
