#pragma once
#include <string>

#include "core/base/timeline.h"
#include "parallel_io/feed/sources.h"

namespace cortado {

/// The readers. For verbs that need shapes alone, zeros stand for absent data.
class ShapeSources : public SourceOpener {
 public:
  /// `needs_values` means that absent data are an error. `shape` is the shape of absent samples, as "3x227x227"; empty
  /// means the one of crop_size, or of new_height and new_width. Throws ConfigError for another text.
  ShapeSources(bool needs_values, const std::string& shape);
  std::unique_ptr<BatchSource> open(const BatchRequest& request, CoreGroup& group) const override;

 private:
  Shape shape_for(const BatchRequest& request) const;

  const Sources sources_;
  const bool needs_values_;
  Shape shape_;
};

}  // namespace cortado
