#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/dropout/programs.h"

namespace cortado {
namespace {

/// Caffe's Dropout. In training each value is zeroed with probability dropout_ratio, else scaled by 1 / (1 - ratio); in
/// testing values pass. A sample's mask depends on its number among all samples since training began, not on its rank.
/// So n ranks with batch b / n drop the same as one rank with batch b. No mask is stored. It may run in place.
class DropoutLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool can_run_in_place() const override { return true; }
  void setup(const Blobs&, const Blobs&) override {
    const float ratio = parameter().dropout_param().dropout_ratio();
    if (!(ratio >= 0 && ratio < 1))
      bad_config("dropout_ratio must be 0 or more and below 1, it is " + std::to_string(ratio));
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    top[0]->reshape(bottom[0]->shape(), bottom[0]->precision());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    with_element(bottom[0]->precision(), [&](auto element) {
      using T = decltype(element);
      apply(bottom[0]->data<T>(), top[0]->mutable_data<T>(), *bottom[0]);
    });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    with_element(bottom[0]->precision(), [&](auto element) {
      using T = decltype(element);
      apply(top[0]->diff<T>(), bottom[0]->mutable_diff<T>(), *bottom[0]);
    });
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {n, n, 8 * n, 8 * n};
  }

 private:
  template <class T>
  void apply(const T* x, T* y, const Blob& shape) {
    const i64 n = shape.count();
    if (run().phase == Phase::test) {
      if (x != y) group().copy(y, x, static_cast<std::size_t>(n) * sizeof(T));
      return;
    }
    const float ratio = parameter().dropout_param().dropout_ratio();
    const i64 batch = shape.axes() > 0 ? shape.dim(0) : 1;
    const i64 first = batch > 0 ? run().first_sample(batch) * (n / batch) : 0;
    elementwise(group(), n, Dropout{random_key(0), ratio, 1 / (1 - ratio)}, from(Numbers{first}, x), to(y));
  }
};

}  // namespace

void add_dropout(LayerTable& table) { table.add<DropoutLayer>("Dropout"); }

}  // namespace cortado
