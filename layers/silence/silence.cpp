#include "core/net/layer_table.h"

namespace cortado {
namespace {

/// Caffe's Silence: takes bottoms without use, so that they are no outputs of the net. Their gradients are 0.
class SilenceLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {1, -1}; }
  Arity tops() const override { return {0, 0}; }
  void reshape(const Blobs&, const Blobs&) override {}
  void forward(const Blobs&, const Blobs&) override {}
  void backward(const Blobs&, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    for (std::size_t i = 0; i < bottom.size(); ++i)
      if (propagate_down[i]) bottom[i]->zero_diff();
  }
};

}  // namespace

void add_silence(LayerTable& table) { table.add<SilenceLayer>("Silence"); }

}  // namespace cortado
