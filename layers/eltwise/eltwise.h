#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Eltwise: product, sum with coefficients, or maximum of two or more bottoms of one shape. The product's
/// gradient multiplies the other bottoms (Caffe's stable way), whatever stable_prod_grad says: dividing by the input
/// fails at 0. A sum accepts a rectifier, and two gradients of its top.
class EltwiseLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  Arity bottoms() const override { return {2, -1}; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Traits traits() override;
  bool accept(const Epilogue& work) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  template <class T>
  void run_forward(const Blobs& bottom, const Blobs& top);
  template <class T>
  void run_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom);
  template <class T>
  void run_sum_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom);
  float coefficient(std::size_t i) const;
  std::unique_ptr<Blob> index_;  // of the bottom that was largest
  bool rectifies_ = false;       // it rectifies the sum
  float slope_ = 1;
  std::size_t gradients_ = 1;  // gradients of the top that backward adds
};

}  // namespace cortado
