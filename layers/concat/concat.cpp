#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/concat/copy_rows.h"

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
    with_element(top[0]->precision(), [&](auto element) {
      using T = decltype(element);
      const T* from = top[0]->diff<T>();
      for (std::size_t i = 0; i < bottom.size(); ++i) {
        Blob& b = *bottom[i];
        if (propagate_down[i])
          copy_rows(group(), from, top[0]->count(axis_), b.mutable_diff<T>(), b.count(axis_), b.count(0, axis_),
                    b.count(axis_));
        from += b.count(axis_);
      }
    });
  }

  Cost cost(const Blobs&, const Blobs& top) const override {
    const auto n = static_cast<double>(top[0]->count());
    return {0, 0, 8 * n, 8 * n};
  }

 private:
  int axis_ = 1;
};

}  // namespace

void add_concat(LayerTable& table) { table.add<ConcatLayer>("Concat"); }

}  // namespace cortado
