#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/concat/copy_rows.h"
#include "layers/split/add_up.h"

namespace cortado {
namespace {

/// Caffe's Concat: bottoms one after another along `axis` (or the older concat_dim); other dimensions must be equal.
class ConcatLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  Arity bottoms() const override { return {1, -1}; }
  /// Blocks follow each other as channels and images do.
  bool keeps_blocks(const Blobs& bottom) const override {
    const auto& p = parameter().concat_param();
    return bottom[0]->canonical_axis(p.has_concat_dim() ? static_cast<int>(p.concat_dim()) : p.axis()) <= 1;
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const auto& p = parameter().concat_param();
    if (p.has_axis() && p.has_concat_dim()) bad_config("give axis or concat_dim, not both");
    axis_ = bottom[0]->canonical_axis(p.has_concat_dim() ? static_cast<int>(p.concat_dim()) : p.axis());
    Shape shape = bottom[0]->shape();
    const auto axis = static_cast<std::size_t>(axis_);
    for (const Blob* b : bottom) {
      Shape other = b->shape();
      if (other.size() == shape.size()) other[axis] = shape[axis];
      if (other != shape)
        bad_shape("bottoms of shapes " + to_string(shape) + " and " + to_string(b->shape()) +
                  " differ in more than axis " + std::to_string(axis_));
    }
    shape[axis] = 0;
    for (const Blob* b : bottom) shape[axis] += b->dim(axis_);
    top[0]->reshape(shape, bottom[0]->precision(), bottom[0]->layout());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    with_element(top[0]->precision(), [&](auto element) {
      using T = decltype(element);
      T* to = top[0]->mutable_data<T>();
      for (const Blob* b : bottom) {
        copy_rows(group(), b->data<T>(), b->count(axis_), to, top[0]->count(axis_), b->count(0, axis_),
                  b->count(axis_));
        to += b->count(axis_);
      }
    });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    with_element(top[0]->precision(),
                 [&](auto element) { run_backward<decltype(element)>(top, propagate_down, bottom); });
  }

  bool accept(const Epilogue& work) override {
    const auto* const gradients = std::get_if<epilogue::GradientSum>(&work);
    if (gradients == nullptr || gradients->count < 2) return false;
    gradients_ = gradients->count;
    return true;
  }

  Cost cost(const Blobs&, const Blobs& top) const override {
    const auto n = static_cast<double>(top[0]->count());
    const auto terms = static_cast<double>(gradients_);
    return {0, n * (terms - 1), 8 * n, 4 * n * (terms + 1)};
  }

 private:
  template <class T>
  void run_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
    const i64 pitch = top[0]->count(axis_);
    std::vector<const T*> from;
    for (std::size_t i = 0; i < gradients_; ++i) from.push_back(top[i]->diff<T>());
    for (std::size_t i = 0; i < bottom.size(); ++i) {
      Blob& b = *bottom[i];
      const i64 rows = b.count(0, axis_), width = b.count(axis_);
      if (propagate_down[i] && gradients_ == 1)
        copy_rows(group(), from[0], pitch, b.mutable_diff<T>(), width, rows, width);
      else if (propagate_down[i])
        add_up(group(), from, pitch, b.mutable_diff<T>(), rows, width);
      for (const T*& part : from) part += width;
    }
  }

  int axis_ = 1;
  std::size_t gradients_ = 1;  // of tops that add up
};

}  // namespace

void add_concat(LayerTable& table) { table.add<ConcatLayer>("Concat"); }

}  // namespace cortado
