#pragma once
#include "core/net/layer.h"

namespace cortado {

/// ShuffleChannel of ShuffleNet's fork: channels, seen as `group` rows, are read column by column. Channel i C/group +
/// j of the bottom becomes channel j group + i of the top.
class ShuffleChannelLayer : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  i64 samples_ = 0, groups_ = 1, channels_ = 0, width_ = 0;  // channels of a group, and the values of one
};

}  // namespace cortado
