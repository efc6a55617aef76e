#pragma once
#include "parallel_io/feed/transformer.h"
#include "parallel_io/sets/window_set.h"

namespace cortado {

/// Makes samples of windows as Caffe's WindowData does. The window grows so that `context` pixels of the crop lie
/// around it. It is cut out as far as the image goes and resized to its part of the crop; the rest of the crop is 0.
/// The values are (value - mean) * scale with the middle of the mean image, and may be mirrored.
class WindowMaker : public SampleMaker {
 public:
  /// `set` must outlive it. Throws ConfigError and FileError for a mean that does not fit.
  WindowMaker(const WindowSet& set, const BatchRequest& request);
  void operator()(const StoredSample& sample, const std::function<std::string()>& where,
                  const Room& room) const override;

 private:
  /// A piece of an image, and its place in the crop.
  struct Place {
    int x1, y1, x2, y2;  ///< corners in the image, both inside
    int left, top, width, height;
  };
  Place place_of(const WindowSet::Window& window, int height, int width, bool mirrored) const;

  const WindowSet& set_;
  const i64 channels_;
  int crop_, context_;
  bool square_, antialias_, mirror_;
  float scale_;
  Mean mean_;
};

}  // namespace cortado
