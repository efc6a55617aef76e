#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/permute/permuted_copy.h"

namespace cortado {
namespace {
const std::vector<int> turned = {0, 2, 1, 3};

/// ShuffleChannel of ShuffleNet's fork: channels, seen as `group` rows, are read column by column. Channel i C/group +
/// j of the bottom becomes channel j group + i of the top.
class ShuffleChannelLayer : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Blob& x = *bottom[0];
    if (x.axes() < 2) bad_shape("its bottom has shape " + to_string(x.shape()) + ", it needs N x C x ...");
    groups_ = parameter().shuffle_channel_param().group();
    if (groups_ < 1 || x.dim(1) % groups_ != 0)
      bad_config("shuffle_channel_param.group " + std::to_string(groups_) + " does not divide " +
                 std::to_string(x.dim(1)) + " channels");
    samples_ = x.dim(0), channels_ = x.dim(1) / groups_, width_ = x.count(2);
    top[0]->reshape(x.shape());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    permuted_copy(group(), {samples_, groups_, channels_, width_}, turned, bottom[0]->data(), top[0]->mutable_data());
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (propagate_down[0])
      permuted_copy(group(), {samples_, channels_, groups_, width_}, turned, top[0]->diff(), bottom[0]->mutable_diff());
  }

  Cost cost(const Blobs&, const Blobs& top) const override {
    const auto n = static_cast<double>(top[0]->count());
    return {0, 0, 8 * n, 8 * n};
  }

 private:
  i64 samples_ = 0, groups_ = 1, channels_ = 0, width_ = 0;  // channels of a group, and the values of one
};

}  // namespace

void add_shuffle_channel(LayerTable& table) { table.add<ShuffleChannelLayer>("ShuffleChannel"); }

}  // namespace cortado
