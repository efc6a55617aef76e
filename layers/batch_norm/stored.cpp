#include <algorithm>

#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "layers/batch_norm/batch_norm.h"

// BatchNorm's blobs in weight files of Caffe's forks: vectors of 1 x N x 1 x 1 become plain; a third blob of 0 beside
// statistics that are not 0 (they are whole already) becomes 1; of five blobs (NVIDIA's, with `scale_bias`), the last
// two are a scale and a bias.
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

}  // namespace

bool BatchNormLayer::lacks_statistics() const {
  return blobs()[2]->data_vector()[0] == 0;  // the sum of the weights of what the others have added up
}

void BatchNormLayer::settle_stored(caffe::LayerParameter& stored, caffe::LayerParameter& behind) const {
  auto& held = *stored.mutable_blobs();
  for (auto& blob : held) drop_ones(blob);
  if (held.size() == all_blobs) {
    for (int i = own_blobs; i < all_blobs; ++i) *behind.add_blobs() = held.Get(i);
    held.DeleteSubrange(own_blobs, all_blobs - own_blobs);
  }
  if (held.size() == own_blobs && is_zero(held.Get(2)) && (!is_zero(held.Get(0)) || !is_zero(held.Get(1)))) {
    auto& factor = *held.Mutable(2);
    factor.clear_double_data();
    factor.clear_data();
    factor.add_data(1);
    CORTADO_LOG(warning) << "layer '" << stored.name()
                         << "': the weights' third blob is 0, as forks of Caffe write it; mean and variance are taken "
                         << "as they are";
  }
}

}  // namespace cortado
