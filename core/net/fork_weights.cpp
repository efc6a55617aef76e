#include "core/net/fork_weights.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/net/net.h"

namespace cortado {
namespace {
constexpr int own_blobs = 3, all_blobs = 5;  // mean, variance, factor; scale, bias

bool is_zero(const caffe::BlobProto& blob) {
  const auto zero = [](double value) { return value == 0; };
  return std::all_of(blob.data().begin(), blob.data().end(), zero) &&
         std::all_of(blob.double_data().begin(), blob.double_data().end(), zero);
}

/// NVIDIA's vectors are 1 x N x 1 x 1.
void drop_ones(caffe::BlobProto& blob) {
  if (!blob.has_shape() || blob.shape().dim_size() < 2) return;
  i64 count = 1;
  int others = 0;
  for (const i64 d : blob.shape().dim()) {
    others += d != 1 ? 1 : 0;
    count = d != 1 ? d : count;
  }
  if (others > 1) return;
  blob.mutable_shape()->clear_dim();
  blob.mutable_shape()->add_dim(count);
}

const Net::Entry* entry_of(const Net& net, const std::string& name) {
  for (const auto& entry : net.layers())
    if (entry.layer->name() == name) return &entry;
  return nullptr;
}

/// The Scale with a bias that takes the layer's top.
const Net::Entry* scale_behind(const Net& net, const Net::Entry& layer) {
  for (const auto& entry : net.layers())
    if (entry.type == "Scale" && entry.bottom.size() == 1 && entry.bottom_names[0] == layer.top_names[0] &&
        entry.layer->blobs().size() == 2)
      return &entry;
  return nullptr;
}
}  // namespace

std::optional<caffe::LayerParameter> settle_fork_blobs(const Net& net, const caffe::LayerParameter& stored,
                                                       caffe::NetParameter& more) {
  const Net::Entry* const entry = entry_of(net, stored.name());
  if (entry == nullptr || entry->type != "BatchNorm" || entry->layer->blobs().size() != own_blobs) return std::nullopt;
  caffe::LayerParameter settled = stored;
  auto& blobs = *settled.mutable_blobs();
  for (auto& blob : blobs) drop_ones(blob);
  if (blobs.size() == all_blobs) {
    const Net::Entry* const scale = scale_behind(net, *entry);
    if (scale == nullptr)
      throw ShapeError("layer '" + stored.name() + "'",
                       "the weights have 5 blobs, as NVIDIA's fork writes them: the last two are a scale and a bias",
                       "let a Scale layer with bias_term: true follow in the net, which gets them");
    auto& given = *more.add_layer();
    given.set_name(scale->layer->name());
    for (int i = own_blobs; i < all_blobs; ++i) *given.add_blobs() = blobs.Get(i);
    blobs.DeleteSubrange(own_blobs, all_blobs - own_blobs);
    CORTADO_LOG(warning) << "layer '" << stored.name() << "': blobs 3 and 4 of the weights go to layer '"
                         << given.name() << "' as its scale and bias";
  }
  if (blobs.size() == own_blobs && is_zero(blobs.Get(2)) && (!is_zero(blobs.Get(0)) || !is_zero(blobs.Get(1)))) {
    auto& factor = *blobs.Mutable(2);
    factor.clear_double_data();
    factor.clear_data();
    factor.add_data(1);
    CORTADO_LOG(warning) << "layer '" << stored.name()
                         << "': the weights' third blob is 0, as forks of Caffe write it; mean and variance are taken "
                         << "as they are";
  }
  return settled;
}

}  // namespace cortado
