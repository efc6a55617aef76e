#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Eltwise: product, sum with coefficients, or maximum of two or more bottoms of one shape. The product's
/// gradient multiplies the other bottoms (Caffe's stable way) whatever stable_prod_grad says: dividing by the input
/// fails at 0. A sum takes over a ReLU that follows in place, and adds the gradients of its top's users itself.
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
  bool absorb(Layer& next, bool asked_back) override;
  bool takes_gradients(std::size_t count) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;
  /// Whether it adds two bottoms as they are, and nothing else.
  bool is_plain_sum_of_two() const;

 private:
  template <class T>
  void run_forward(const Blobs& bottom, const Blobs& top);
  template <class T>
  void run_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom);
  template <class T, int gradients>
  void run_sum_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom);
  float coefficient(std::size_t i) const;
  std::unique_ptr<Blob> index_;  // of the bottom that was largest
  bool rectifies_ = false;       // the sum, as an absorbed ReLU does
  float slope_ = 1;
  std::size_t gradients_ = 1;  // of the top that backward adds
};

/// bottom's gradient, where the tops, one or two, are a sum that has it as it is: theirs together, where they are not
/// positive times `slope` if the sum `rectifies`.
template <class T>
void gradient_of_sum(CoreGroup& group, const Layer::Blobs& top, bool rectifies, float slope, Blob& bottom);

}  // namespace cortado
