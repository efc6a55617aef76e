#pragma once
#include "core/net/layer.h"
#include "layers/channels/channels.h"

namespace cortado {

/// What Scale and Bias share: a factor (learned, or the second bottom) whose shape is some axes of the first bottom's,
/// repeated over the others.
class FactorLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {1, 2}; }
  bool can_run_in_place() const override { return true; }
  /// A learned factor per channel only.
  bool keeps_blocks(const Blobs& bottom) const override { return bottom.size() == 1 && learns_per_channel(); }

 protected:
  /// Whether a factor that is learned has one value per channel (axis 1).
  virtual bool learns_per_channel() const = 0;
  /// The shape of a learned factor: `axes` of the bottom's axes from `axis` on; -1: all. Throws ConfigError.
  Shape learned_shape(const Blob& bottom, int axis, int axes) const;
  /// How a factor lies in the bottom from `axis` on. Throws ShapeError where it does not.
  Channels place(const Blob& factor, const Blob& bottom, int axis) const;
};

}  // namespace cortado
