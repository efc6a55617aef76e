#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "layers/batch_norm/batch_norm.h"

// BatchNorm's blobs in weight files of Caffe's forks. A third blob of 0 beside statistics that are not 0 (they are
// whole already) becomes 1. Five blobs (NVIDIA's, with `scale_bias`: mean, variance, factor, scale, bias) and four
// (BN's of yjxiong and PSPNet: scale, bias, mean, variance) hold a scale and a bias.
namespace cortado {
namespace {
constexpr int own_blobs = 3, all_blobs = 5;  // mean, variance, factor; scale, bias

bool is_zero(const caffe::BlobProto& blob) {
  const auto zero = [](double value) { return value == 0; };
  return std::all_of(blob.data().begin(), blob.data().end(), zero) &&
         std::all_of(blob.double_data().begin(), blob.double_data().end(), zero);
}

/// Brings BN's four blobs into the order of NVIDIA's five.
void bring_in_order(caffe::LayerParameter& stored) {
  auto& held = *stored.mutable_blobs();
  held.SwapElements(0, 2);
  held.SwapElements(1, 3);
  auto& factor = *stored.add_blobs();
  factor.mutable_shape()->add_dim(1);
  factor.add_data(1);
  held.SwapElements(3, 4);  // mean, variance, scale, factor, bias
  held.SwapElements(2, 3);
}

}  // namespace

bool BatchNormLayer::lacks_statistics() const {
  return blobs()[2]->data_vector()[0] == 0;  // the sum of the weights of what the others have added up
}

void BatchNormLayer::settle_stored(caffe::LayerParameter& stored, caffe::LayerParameter& behind) const {
  auto& held = *stored.mutable_blobs();
  // SegNet's BN, which a file in protobuf's form names.
  if (held.size() == 2 && !stored.type().empty() && stored.type() != parameter().type())
    throw ShapeError("layer '" + stored.name() + "'",
                     "the weights are those of a " + stored.type() + " layer, a scale and a shift",
                     "let a Scale layer with bias_term: true have this name");
  if (held.size() == 4) bring_in_order(stored);
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
