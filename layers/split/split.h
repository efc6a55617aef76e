#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Split, which the pass `splits` inserts where a blob feeds several layers. Tops share the bottom's values;
/// the bottom's gradient is the sum of the tops'.
class SplitLayer : public Layer {
 public:
  using Layer::Layer;
  static constexpr Role role = Role::split;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  Arity tops() const override { return {1, -1}; }
  Traits traits() override {
    Traits traits;
    traits.is_split = true;
    return traits;
  }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  template <class T>
  void add(const Blobs& top, Blob& bottom);
};

}  // namespace cortado
