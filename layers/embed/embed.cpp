#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/gemm/gemm.h"
#include "layers/loss/labels.h"
#include "layers/rows/rows.h"

namespace cortado {
namespace {

/// Caffe's Embed. Every value of the bottom is a number in [0, input_dim) and picks that row of the weights (input_dim
/// x num_output). A bias is added. The top has the bottom's shape with num_output behind. Throws ConfigError for other
/// numbers.
class EmbedLayer : public Layer {
 public:
  using Layer::Layer;
  bool allows_backward_to(std::size_t /*i*/) const override { return false; }
  void setup(const Blobs&, const Blobs&) override {
    const auto& p = parameter().embed_param();
    if (p.num_output() < 1) bad_config("num_output must be at least 1");
    if (p.input_dim() < 1) bad_config("input_dim must be at least 1");
    add_parameter({p.input_dim(), width()}, p.weight_filler());
    if (p.bias_term()) add_parameter({width()}, p.bias_filler());
    picker_ = std::make_unique<RowPicker>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    Shape shape = bottom[0]->shape();
    shape.push_back(width());
    top[0]->reshape(shape);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const i64 words = parameter().embed_param().input_dim();
    const auto values = bottom[0]->data_vector();
    const std::string wrong = wrong_index(values, words);
    if (!wrong.empty()) bad_config("its bottom's " + wrong, "check the data, or input_dim");
    const std::vector<int> index(values.begin(), values.end());
    picker_->pick(index);
    picker_->gather(blobs()[0]->data(), blobs().size() > 1 ? blobs()[1]->data() : nullptr, width(),
                    top[0]->mutable_data());
  }

  void backward(const Blobs& top, const std::vector<bool>&, const Blobs&) override {
    const float* const dy = top[0]->diff();
    if (param_propagate_down(0)) picker_->sum(dy, width(), blobs()[0]->mutable_diff());
    if (blobs().size() > 1 && param_propagate_down(1))
      sum_columns(group(), dy, picker_->picked(), width(), blobs()[1]->mutable_diff());
  }

  Cost cost(const Blobs&, const Blobs& top) const override {
    const auto n = static_cast<double>(top[0]->count());
    return {n, 2 * n, 8 * n, 12 * n};
  }

 private:
  i64 width() const { return parameter().embed_param().num_output(); }

  std::unique_ptr<RowPicker> picker_;
};

}  // namespace

void add_embed(LayerTable& table) { table.add<EmbedLayer>("Embed"); }

}  // namespace cortado
