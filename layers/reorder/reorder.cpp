#include "core/net/layer_table.h"
#include "layers/transform/transform.h"

namespace cortado {
namespace {
/// The bottom's, which is called nchw where images of their own sizes come to one pixel: both are the same then.
constexpr Layout blocks = Layout::nchw16c;

/// Connects two layouts. The top is the bottom, which lies in blocks of channels (nchw16c), in nchw. The bottom gets
/// the top's gradient in blocks. The pass `layouts` inserts these (Layer::keeps_blocks).
class ReorderLayer : public Layer {
 public:
  using Layer::Layer;
  static constexpr Role role = Role::reorder;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const bool is_pixel = bottom[0]->axes() == 4 && bottom[0]->count(2) == 1;
    if (bottom[0]->layout() == Layout::nchw && !is_pixel) bad_config("its bottom is nchw already");
    top[0]->reshape(bottom[0]->shape(), bottom[0]->precision());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    with_element(bottom[0]->precision(), [&](auto element) {
      using T = decltype(element);
      transform(group(), blocks, Layout::nchw, bottom[0]->shape(), bottom[0]->data<T>(), top[0]->mutable_data<T>());
    });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    with_element(bottom[0]->precision(), [&](auto element) {
      using T = decltype(element);
      transform(group(), Layout::nchw, blocks, bottom[0]->shape(), top[0]->diff<T>(), bottom[0]->mutable_diff<T>());
    });
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto bytes = 2 * static_cast<double>(bottom[0]->bytes());
    return {0, 0, bytes, bytes};
  }
};

}  // namespace

void add_reorder(LayerTable& table) { table.add<ReorderLayer>("Reorder"); }

}  // namespace cortado
