#include "layers/batch_reindex/batch_reindex.h"

#include "layers/loss/labels.h"

namespace cortado {

void BatchReindexLayer::setup(const Blobs&, const Blobs&) { picker_ = std::make_unique<RowPicker>(group()); }

void BatchReindexLayer::reshape(const Blobs& bottom, const Blobs& top) {
  if (bottom[0]->axes() < 1 || bottom[1]->axes() != 1)
    bad_shape("expects samples and a list of their numbers, the bottoms have shapes " + to_string(bottom[0]->shape()) +
              " and " + to_string(bottom[1]->shape()));
  Shape shape = bottom[0]->shape();
  shape[0] = bottom[1]->count();
  top[0]->reshape(shape);
}

void BatchReindexLayer::forward(const Blobs& bottom, const Blobs& top) {
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

void BatchReindexLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  bottom[0]->zero_diff();
  picker_->sum(top[0]->diff(), bottom[0]->count(1), bottom[0]->mutable_diff());
}

Layer::Cost BatchReindexLayer::cost(const Blobs&, const Blobs& top) const {
  const auto n = static_cast<double>(top[0]->count());
  return {0, n, 8 * n, 12 * n};
}

}  // namespace cortado
