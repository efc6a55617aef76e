#include "layers/shuffle_channel/shuffle_channel.h"

#include "core/formats/caffe.pb.h"
#include "layers/permute/permuted_copy.h"

namespace cortado {
namespace {
const std::vector<int> turned = {0, 2, 1, 3};
}

void ShuffleChannelLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const Blob& x = *bottom[0];
  if (x.axes() < 2) bad_shape("its bottom has shape " + to_string(x.shape()) + ", it needs N x C x ...");
  groups_ = parameter().shuffle_channel_param().group();
  if (groups_ < 1 || x.dim(1) % groups_ != 0)
    bad_config("shuffle_channel_param.group " + std::to_string(groups_) + " does not divide " +
               std::to_string(x.dim(1)) + " channels");
  samples_ = x.dim(0), channels_ = x.dim(1) / groups_, width_ = x.count(2);
  top[0]->reshape(x.shape());
}

void ShuffleChannelLayer::forward(const Blobs& bottom, const Blobs& top) {
  permuted_copy(group(), {samples_, groups_, channels_, width_}, turned, bottom[0]->data(), top[0]->mutable_data());
}

void ShuffleChannelLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (propagate_down[0])
    permuted_copy(group(), {samples_, channels_, groups_, width_}, turned, top[0]->diff(), bottom[0]->mutable_diff());
}

Layer::Cost ShuffleChannelLayer::cost(const Blobs&, const Blobs& top) const {
  const auto n = static_cast<double>(top[0]->count());
  return {0, 0, 8 * n, 8 * n};
}

}  // namespace cortado
