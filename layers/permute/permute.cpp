#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/permute/permuted_copy.h"

namespace cortado {
namespace {

/// Permute of SSD's fork: the top has the bottom's axes in another order. `order` names the bottom's axes as the top
/// has them; those that it does not name follow in their old order.
class PermuteLayer : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const int axes = bottom[0]->axes();
    if (axes > most_permuted_axes)
      bad_shape("its bottom has shape " + to_string(bottom[0]->shape()) + ", it can move " +
                std::to_string(most_permuted_axes) + " axes");
    order_.clear();
    const auto is_named = [this](int axis) { return std::find(order_.begin(), order_.end(), axis) != order_.end(); };
    for (const std::uint32_t given : parameter().permute_param().order()) {
      if (given >= static_cast<std::uint32_t>(axes))
        bad_config("permute_param.order names axis " + std::to_string(given) + " of a bottom of shape " +
                       to_string(bottom[0]->shape()),
                   "axes are counted from 0");
      const int axis = static_cast<int>(given);
      if (is_named(axis)) bad_config("permute_param.order names axis " + std::to_string(axis) + " twice");
      order_.push_back(axis);
    }
    for (int axis = 0; axis < axes; ++axis)
      if (!is_named(axis)) order_.push_back(axis);
    back_.resize(order_.size());
    Shape shape;
    for (std::size_t d = 0; d < order_.size(); ++d) {
      shape.push_back(bottom[0]->dim(order_[d]));
      back_[static_cast<std::size_t>(order_[d])] = static_cast<int>(d);
    }
    top[0]->reshape(shape);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    permuted_copy(group(), bottom[0]->shape(), order_, bottom[0]->data(), top[0]->mutable_data());
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (propagate_down[0]) permuted_copy(group(), top[0]->shape(), back_, top[0]->diff(), bottom[0]->mutable_diff());
  }

  Cost cost(const Blobs&, const Blobs& top) const override {
    const auto n = static_cast<double>(top[0]->count());
    return {0, 0, 8 * n, 8 * n};
  }

 private:
  std::vector<int> order_, back_;  // axis d of the top is axis order_[d] of the bottom, which is axis back_[..] of it
};

}  // namespace

void add_permute(LayerTable& table) { table.add<PermuteLayer>("Permute"); }

}  // namespace cortado
