#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/cast/convert.h"

namespace cortado {
namespace {

/// Connects two precisions. The top holds the bottom's values in the precision of the layer's parameter, and the bottom
/// gets the top's gradient in its own. The pass `casts` inserts these.
class CastLayer : public Layer {
 public:
  using Layer::Layer;
  static constexpr Role role = Role::cast;
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Precision wanted = parameter().precision() == caffe::BF16 ? Precision::bf16 : Precision::fp32;
    if (wanted == bottom[0]->precision()) bad_config(std::string("its bottom is ") + to_string(wanted) + " already");
    top[0]->reshape(bottom[0]->shape(), wanted, bottom[0]->layout());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const i64 n = bottom[0]->count();
    if (top[0]->precision() == Precision::bf16)
      convert(group(), bottom[0]->data(), top[0]->mutable_data<bf16>(), n);
    else
      convert(group(), bottom[0]->data<bf16>(), top[0]->mutable_data(), n);
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    const i64 n = bottom[0]->count();
    if (top[0]->precision() == Precision::bf16)
      convert(group(), top[0]->diff<bf16>(), bottom[0]->mutable_diff(), n);
    else
      convert(group(), top[0]->diff(), bottom[0]->mutable_diff<bf16>(), n);
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {0, 0, 6 * n, 6 * n};
  }
};

}  // namespace

void add_cast(LayerTable& table) { table.add<CastLayer>("Cast"); }

}  // namespace cortado
