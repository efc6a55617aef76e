#include "core/net/layer_table.h"
#include "layers/loss/labels.h"
#include "layers/rows/rows.h"

namespace cortado {
namespace {

/// Caffe's BatchReindex: value i of the second bottom names the sample of the first bottom that becomes sample i of the
/// top. Samples may appear several times or not at all. Throws ConfigError for numbers of no sample.
class BatchReindexLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }
  void setup(const Blobs&, const Blobs&) override { picker_ = std::make_unique<RowPicker>(group()); }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    if (bottom[0]->axes() < 1 || bottom[1]->axes() != 1)
      bad_shape("expects samples and a list of their numbers, the bottoms have shapes " +
                to_string(bottom[0]->shape()) + " and " + to_string(bottom[1]->shape()));
    Shape shape = bottom[0]->shape();
    shape[0] = bottom[1]->count();
    top[0]->reshape(shape);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const i64 samples = bottom[0]->dim(0);
    const auto values = bottom[1]->data_vector();
    const std::string wrong = wrong_index(values, samples);
    if (!wrong.empty())
      bad_config("its second bottom's " + wrong,
                 "it picks from the " + std::to_string(samples) + " samples of the first");
    const std::vector<int> index(values.begin(), values.end());
    picker_->pick(index);
    picker_->gather(bottom[0]->data(), nullptr, bottom[0]->count(1), top[0]->mutable_data());
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    bottom[0]->zero_diff();
    picker_->sum(top[0]->diff(), bottom[0]->count(1), bottom[0]->mutable_diff());
  }

  Cost cost(const Blobs&, const Blobs& top) const override {
    const auto n = static_cast<double>(top[0]->count());
    return {0, n, 8 * n, 12 * n};
  }

 private:
  std::unique_ptr<RowPicker> picker_;
};

}  // namespace

void add_batch_reindex(LayerTable& table) { table.add<BatchReindexLayer>("BatchReindex"); }

}  // namespace cortado
