#pragma once
#include <map>
#include <memory>
#include <set>
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
  /// The same, but no sample is read: for core groups whose memory means nothing. settle_shapes tells what zeros stand
  /// for.
  ShapeSources without_values() const;
  /// Warns, after nets are built, of given shapes that samples do not have. Throws ConfigError for a
  /// shape of a top that no opened source has.
  void settle_shapes() const;

 private:
  struct Opened {
    std::set<std::string> tops, warnings;
  };
  std::vector<Shape> shapes_for(const BatchRequest& request) const;
  /// The shape that is given for a request's top; nullptr means none.
  const Shape* given(const BatchRequest& request, std::size_t top) const;

  std::shared_ptr<const SourceOpener> opener_;
  std::shared_ptr<Opened> opened_ = std::make_shared<Opened>();  // shared with copies
  bool needs_values_, tells_late_ = false;
  std::map<std::string, Shape> shapes_;  // by top; empty: the first
};

}  // namespace cortado
