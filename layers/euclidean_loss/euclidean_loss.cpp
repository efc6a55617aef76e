#include "layers/euclidean_loss/euclidean_loss.h"

#include <algorithm>

#include "layers/loss/pair_loss.h"

namespace cortado {

void EuclideanLossLayer::reshape(const Blobs& bottom, const Blobs& top) {
  if (bottom[0]->count() != bottom[1]->count())
    bad_shape("bottoms of shapes " + to_string(bottom[0]->shape()) + " and " + to_string(bottom[1]->shape()) +
              " do not have as many elements");
  samples_ = static_cast<float>(std::max<i64>(1, bottom[0]->axes() > 0 ? bottom[0]->dim(0) : 1));
  top[0]->reshape({});
}

void EuclideanLossLayer::forward(const Blobs& bottom, const Blobs& top) {
  const auto sums = pair_loss(group(), loss::SquaredDifference{}, *bottom[0], *bottom[1], context().workspace);
  const auto loss = static_cast<float>(sums[0] / double{samples_});
  top[0]->write_data(&loss);
}

void EuclideanLossLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  for (std::size_t i = 0; i < 2; ++i)
    if (propagate_down[i])
      pair_loss_gradient(group(), loss::SquaredDifference{}, *bottom[0], *bottom[1], *top[0],
                         (i == 0 ? 1.0f : -1.0f) / samples_, bottom[i]->mutable_diff());
}

Layer::Cost EuclideanLossLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {3 * n, 2 * n, 8 * n, 12 * n};
}

}  // namespace cortado
