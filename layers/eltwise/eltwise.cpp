#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/eltwise/programs.h"
#include "layers/eltwise/sum_gradient.h"

namespace cortado {
namespace {

/// Caffe's Eltwise: product, sum with coefficients, or maximum of two or more bottoms of one shape. The product's
/// gradient multiplies the other bottoms (Caffe's stable way), whatever stable_prod_grad says: dividing by the input
/// fails at 0. A sum accepts a rectifier, and two gradients of its top.
class EltwiseLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  Arity bottoms() const override { return {2, -1}; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  void setup(const Blobs& bottom, const Blobs&) override {
    const auto& p = parameter().eltwise_param();
    if (p.coeff_size() > 0 && p.coeff_size() != static_cast<int>(bottom.size()))
      bad_config(std::to_string(p.coeff_size()) + " coefficients for " + std::to_string(bottom.size()) + " bottoms");
    if (p.coeff_size() > 0 && p.operation() == caffe::EltwiseParameter::PROD)
      bad_config("coefficients do not go with PROD", "leave them out, or put a Power layer behind");
    index_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    for (const Blob* b : bottom)
      if (b->shape() != bottom[0]->shape())
        bad_shape("bottoms of shapes " + to_string(bottom[0]->shape()) + " and " + to_string(b->shape()));
    top[0]->reshape_like(*bottom[0]);
    index_->reshape_like(*bottom[0]);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    with_element(top[0]->precision(), [&](auto element) { run_forward<decltype(element)>(bottom, top); });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    with_element(top[0]->precision(),
                 [&](auto element) { run_backward<decltype(element)>(top, propagate_down, bottom); });
  }

  Traits traits() override {
    Traits traits;
    traits.is_sum_of_two = parameter().eltwise_param().operation() == caffe::EltwiseParameter::SUM &&
                           parameter().bottom_size() == 2 && coefficient(0) == 1 && coefficient(1) == 1;
    return traits;
  }

  /// Only sums accept work. A rectified sum has the sign of the sum.
  bool accept(const Epilogue& work) override {
    if (parameter().eltwise_param().operation() != caffe::EltwiseParameter::SUM) return false;
    if (const auto* const gradients = std::get_if<epilogue::GradientSum>(&work)) {
      if (gradients->count != 2) return false;
      gradients_ = gradients->count;
      return true;
    }
    const auto* const rectifier = std::get_if<epilogue::Rectifier>(&work);
    if (rectifier == nullptr || !rectifier->all_propagate || rectifies_ || parameter().bottom_size() < 2) return false;
    if (!rectifier->shows_in_result()) return false;
    slope_ = rectifier->by.slope;
    return rectifies_ = true;
  }

  Cost cost(const Blobs& bottom, const Blobs& top) const override {
    const auto n = static_cast<double>(top[0]->count()), k = static_cast<double>(bottom.size());
    const double added = static_cast<double>(gradients_) + (rectifies_ ? 1 : 0);
    return {n * k, n * k, 4 * n * (k + 1), 4 * n * (k + added)};
  }

 private:
  template <class T>
  void run_forward(const Blobs& bottom, const Blobs& top) {
    T* const y = top[0]->mutable_data<T>();
    const i64 n = top[0]->count();
    for (std::size_t i = 1; i < bottom.size(); ++i) {
      const T* const so_far = i == 1 ? bottom[0]->data<T>() : y;
      const T* const next = bottom[i]->data<T>();
      switch (parameter().eltwise_param().operation()) {
        case caffe::EltwiseParameter::PROD: elementwise(group(), n, Product{}, from(so_far, next), to(y)); break;
        case caffe::EltwiseParameter::SUM: {
          const WeightedSum sum{i == 1 ? coefficient(0) : 1, coefficient(i), i + 1 == bottom.size() ? slope_ : 1};
          elementwise(group(), n, sum, from(so_far, next), to(y));
          break;
        }
        case caffe::EltwiseParameter::MAX: {
          T* const index = index_->mutable_data<T>();
          elementwise(group(), n, Larger{static_cast<float>(i), i == 1}, from(so_far, next, index), to(y, index));
        }
      }
    }
  }

  template <class T>
  void run_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
    if (parameter().eltwise_param().operation() == caffe::EltwiseParameter::SUM)
      return run_sum_backward<T>(top, propagate_down, bottom);
    const T* const dy = top[0]->diff<T>();
    const i64 n = top[0]->count();
    for (std::size_t i = 0; i < bottom.size(); ++i) {
      if (!propagate_down[i]) continue;
      T* const dx = bottom[i]->mutable_diff<T>();
      switch (parameter().eltwise_param().operation()) {
        case caffe::EltwiseParameter::SUM: break;  // see above
        case caffe::EltwiseParameter::MAX:
          elementwise(group(), n, WhereIndex{static_cast<float>(i)}, from(dy, index_->data<T>()), to(dx));
          break;
        case caffe::EltwiseParameter::PROD: {
          const T* so_far = dy;
          for (std::size_t j = 0; j < bottom.size(); ++j) {
            if (j == i) continue;
            elementwise(group(), n, Product{}, from(so_far, bottom[j]->data<T>()), to(dx));
            so_far = dx;
          }
        }
      }
    }
  }

  /// Two bottoms at a time.
  template <class T>
  void run_sum_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
    const Blobs tops(top.begin(), top.begin() + static_cast<std::ptrdiff_t>(gradients_));
    std::vector<T*> dx;
    std::vector<float> w;
    for (std::size_t i = 0; i < bottom.size(); ++i) {
      if (propagate_down[i]) dx.push_back(bottom[i]->mutable_diff<T>()), w.push_back(coefficient(i));
      if (dx.empty() || (dx.size() == 1 && i + 1 < bottom.size())) continue;
      gradients_of_sum(group(), tops, rectifies_, slope_, dx, w);
      dx.clear(), w.clear();
    }
  }

  float coefficient(std::size_t i) const {
    const auto& p = parameter().eltwise_param();
    return p.coeff_size() > 0 ? p.coeff(static_cast<int>(i)) : 1;
  }

  std::unique_ptr<Blob> index_;  // of the bottom that was largest
  bool rectifies_ = false;       // it rectifies the sum
  float slope_ = 1;
  std::size_t gradients_ = 1;  // gradients of the top that backward adds
};

}  // namespace

void add_eltwise(LayerTable& table) { table.add<EltwiseLayer>("Eltwise"); }

}  // namespace cortado
