#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/softmax/kernel.h"

namespace cortado {
namespace {

/// Caffe's Softmax over axis softmax_param.axis.
class SoftmaxLayer : public Layer {
 public:
  using Layer::Layer;
  bool can_run_in_place() const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const int axis = bottom[0]->canonical_axis(parameter().softmax_param().axis());
    kernel_ = {bottom[0]->count(0, axis), bottom[0]->dim(axis), bottom[0]->count(axis + 1)};
    top[0]->reshape(bottom[0]->shape());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    kernel_.forward(group(), bottom[0]->data(), top[0]->mutable_data(), workspace(kernel_.workspace()));
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    kernel_.backward(group(), top[0]->data(), top[0]->diff(), bottom[0]->mutable_diff(),
                     workspace(kernel_.workspace()));
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {20 * n, 4 * n, 8 * n, 12 * n};  // an exponential is about twenty operations
  }

 private:
  SoftmaxKernel kernel_;
};

}  // namespace

void add_softmax(LayerTable& table) { table.add<SoftmaxLayer>("Softmax"); }

}  // namespace cortado
