#include <algorithm>

#include "core/net/layer_table.h"
#include "layers/loss/loss.h"
#include "layers/loss/pair_loss.h"

namespace cortado {
namespace {

/// Caffe's EuclideanLoss: the sum of (a - b)^2 over all elements, divided by twice the batch. Both bottoms may have a
/// gradient.
class EuclideanLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  bool allows_backward_to(std::size_t /*i*/) const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    if (bottom[0]->count() != bottom[1]->count())
      bad_shape("bottoms of shapes " + to_string(bottom[0]->shape()) + " and " + to_string(bottom[1]->shape()) +
                " do not have as many elements");
    samples_ = static_cast<float>(std::max<i64>(1, bottom[0]->axes() > 0 ? bottom[0]->dim(0) : 1));
    top[0]->reshape({});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const auto sums = pair_loss(group(), loss::SquaredDifference{}, *bottom[0], *bottom[1], context().workspace);
    const auto loss = static_cast<float>(sums[0] / double{samples_});
    top[0]->write_data(&loss);
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    for (std::size_t i = 0; i < 2; ++i)
      if (propagate_down[i])
        pair_loss_gradient(group(), loss::SquaredDifference{}, *bottom[0], *bottom[1], *top[0],
                           (i == 0 ? 1.0f : -1.0f) / samples_, bottom[i]->mutable_diff());
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {3 * n, 2 * n, 8 * n, 12 * n};
  }

 private:
  float samples_ = 1;
};

}  // namespace

void add_euclidean_loss(LayerTable& table) { table.add<EuclideanLossLayer>("EuclideanLoss"); }

}  // namespace cortado
