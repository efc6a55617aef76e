#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/timeline.h"
#include "parallel_io/feed/sources.h"

namespace cortado {

/// The readers. For verbs that need shapes alone, zeros stand for absent data.
class ShapeSources : public SourceOpener {
 public:
  /// `needs_values` means that absent data are an error. `shapes` are the shapes of absent samples: "3x227x227" for a
  /// layer's first top, "label=1x500x500" for the top of that name. Without one, the first top has that of crop_size,
  /// or of new_height and new_width, and others have one number. Throws ConfigError for another text.
  ShapeSources(bool needs_values, const std::vector<std::string>& shapes);
  std::unique_ptr<BatchSource> open(const BatchRequest& request, CoreGroup& group) const override;
  /// The same, but no sample is read: for core groups whose memory means nothing.
  ShapeSources without_values() const;

 private:
  std::vector<Shape> shapes_for(const BatchRequest& request) const;

  std::shared_ptr<const SourceOpener> opener_;
  bool needs_values_;
  std::map<std::string, Shape> shapes_;  // by top; empty: the first
};

}  // namespace cortado
