#pragma once
#include <string>

#include "core/base/timeline.h"
#include "parallel_io/feed/sources.h"

namespace cortado {

/// The readers; for verbs that need no more than shapes, zeros stand for data whose source is away.
class ShapeSources : public SourceOpener {
 public:
  /// `needs_values`: nothing stands for data that is away. `shape` is that of the samples away, as "3x227x227"; empty:
  /// what crop_size, or new_height and new_width, say. Throws ConfigError for another text.
  ShapeSources(bool needs_values, const std::string& shape);
  std::unique_ptr<BatchSource> open(const BatchRequest& request, CoreGroup& group) const override;

 private:
  Shape shape_for(const BatchRequest& request) const;

  const Sources sources_;
  const bool needs_values_;
  Shape shape_;
};

}  // namespace cortado
