#pragma once
#include "core/net/layer.h"
#include "layers/channels/channels.h"

namespace cortado {

/// The common part of Scale and Bias: a factor, learned or the second bottom. Its shape is some axes of the first
/// bottom's, and it is repeated over the others.
class FactorLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {1, 2}; }
  bool can_run_in_place() const override { return true; }
  /// True for a factor per channel, learned or not, and for one per image and channel.
  bool keeps_blocks(const Blobs& bottom) const override {
    if (bottom.size() == 1) return learns_per_channel();
    return (axis() == 0 && bottom[1]->axes() == 2) || (axis() == 1 && bottom[1]->axes() == 1);
  }

 protected:
  /// The axis of the first bottom at which a factor's shape begins.
  virtual int axis() const = 0;
  /// True if a learned factor has one value per channel (axis 1).
  virtual bool learns_per_channel() const = 0;
  /// The shape of a learned factor: `axes` of the bottom's axes from `axis` on; -1 means all. Throws ConfigError.
  Shape learned_shape(const Blob& bottom, int axis, int axes) const;
  /// The place of a factor in the bottom from `axis` on. Throws ShapeError where it does not fit.
  Channels place(const Blob& factor, const Blob& bottom, int axis) const;
};

}  // namespace cortado
