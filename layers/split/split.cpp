#include "core/net/layer_table.h"
#include "layers/split/add_up.h"

namespace cortado {
namespace {

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
  void reshape(const Blobs& bottom, const Blobs& top) override {
    for (Blob* t : top) t->reshape_like(*bottom[0]);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    // Not in reshape: shaping a net must not allocate its values.
    for (Blob* t : top) t->share_data(*bottom[0]);
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    with_element(bottom[0]->precision(), [&](auto element) { add<decltype(element)>(top, *bottom[0]); });
  }

  Cost cost(const Blobs& bottom, const Blobs& top) const override {
    const double n = static_cast<double>(bottom[0]->count()), terms = static_cast<double>(top.size());
    return {0, n * (terms - 1), 0, 4 * n * (terms + 1)};
  }

 private:
  template <class T>
  void add(const Blobs& top, Blob& bottom) {
    if (top.empty()) return bottom.zero_diff();
    T* const sum = bottom.mutable_diff<T>();
    if (top.size() == 1) return group().copy(sum, top[0]->diff<T>(), static_cast<std::size_t>(bottom.bytes()));
    std::vector<const T*> gradients;
    for (const Blob* t : top) gradients.push_back(t->diff<T>());
    add_up(group(), gradients, bottom.count(), sum, 1, bottom.count());
  }
};

}  // namespace

void add_split(LayerTable& table) { table.add<SplitLayer>("Split"); }

}  // namespace cortado
