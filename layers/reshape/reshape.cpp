#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"

namespace cortado {
namespace {

/// The common part of Reshape and Flatten: the top has the bottom's values in another shape. Values are copied, so
/// layers that work in place on the top leave the bottom alone.
class ReshapingLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    top[0]->reshape(shape_of_top(*bottom[0]), bottom[0]->precision());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    with_element(bottom[0]->precision(), [&](auto element) {
      using T = decltype(element);
      group().copy(top[0]->mutable_data<T>(), bottom[0]->data<T>(), static_cast<std::size_t>(bottom[0]->bytes()));
    });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    with_element(bottom[0]->precision(), [&](auto element) {
      using T = decltype(element);
      group().copy(bottom[0]->mutable_diff<T>(), top[0]->diff<T>(), static_cast<std::size_t>(bottom[0]->bytes()));
    });
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto bytes = 2 * static_cast<double>(bottom[0]->bytes());
    return {0, 0, bytes, bytes};
  }

 protected:
  virtual Shape shape_of_top(const Blob& bottom) const = 0;
};

/// Caffe's Reshape: num_axes of the bottom's axes from `axis` on (all, by default) become the dimensions of `shape`. A
/// negative axis counts from behind the last. In `shape`, 0 stands for the bottom's dimension and -1, once, for the
/// rest.
class ReshapeLayer : public ReshapingLayer {
 public:
  using ReshapingLayer::ReshapingLayer;

 protected:
  Shape shape_of_top(const Blob& bottom) const override {
    const auto& p = parameter().reshape_param();
    const int first = p.axis() >= 0 ? p.axis() : bottom.axes() + p.axis() + 1;
    const int end = p.num_axes() == -1 ? bottom.axes() : first + p.num_axes();
    if (first < 0 || first > bottom.axes() || p.num_axes() < -1 || end > bottom.axes())
      bad_config("axis " + std::to_string(p.axis()) + " and num_axes " + std::to_string(p.num_axes()) +
                 " do not lie in the bottom's shape " + to_string(bottom.shape()));
    Shape shape(bottom.shape().begin(), bottom.shape().begin() + first);
    int open = -1;  // the axis that is what is left
    for (int i = 0; i < p.shape().dim_size(); ++i) {
      i64 dim = p.shape().dim(i);
      if (dim == 0 && first + i >= bottom.axes())
        bad_config("dimension " + std::to_string(i) + " of the shape is 0, but the bottom's shape " +
                   to_string(bottom.shape()) + " has none there");
      if (dim < -1 || (dim == -1 && open >= 0)) bad_config("a shape has dimensions above 0, 0s, and at most one -1");
      if (dim == -1) open = static_cast<int>(shape.size());
      if (dim == 0) dim = bottom.dim(first + i);
      shape.push_back(dim == -1 ? 1 : dim);
    }
    shape.insert(shape.end(), bottom.shape().begin() + end, bottom.shape().end());
    const i64 known = count_of(shape);
    if (open >= 0 && known > 0 && bottom.count() % known == 0)
      shape[static_cast<std::size_t>(open)] = bottom.count() / known;
    if (count_of(shape) != bottom.count())
      bad_shape("the bottom's shape " + to_string(bottom.shape()) + " cannot become " + to_string(shape));
    return shape;
  }
};

/// Caffe's Flatten: the axes from `axis` to `end_axis` become one.
class FlattenLayer : public ReshapingLayer {
 public:
  using ReshapingLayer::ReshapingLayer;

 protected:
  Shape shape_of_top(const Blob& bottom) const override {
    const auto& p = parameter().flatten_param();
    const int first = bottom.canonical_axis(p.axis()), last = bottom.canonical_axis(p.end_axis());
    if (last < first) bad_config("end_axis lies before axis");
    Shape shape(bottom.shape().begin(), bottom.shape().begin() + first);
    shape.push_back(bottom.count(first, last + 1));
    shape.insert(shape.end(), bottom.shape().begin() + last + 1, bottom.shape().end());
    return shape;
  }
};

}  // namespace

void add_reshape(LayerTable& table) {
  table.add<FlattenLayer>("Flatten");
  table.add<ReshapeLayer>("Reshape");
}

}  // namespace cortado
