#include "layers/filter/filter.h"

#include <cmath>
#include <numeric>

#include "core/formats/caffe.pb.h"

namespace cortado {

std::size_t FilterLayer::selector() const { return static_cast<std::size_t>(parameter().bottom_size()) - 1; }

void FilterLayer::setup(const Blobs& bottom, const Blobs& top) {
  if (top.size() + 1 != bottom.size())
    bad_config(std::to_string(bottom.size()) + " bottoms need " + std::to_string(bottom.size() - 1) + " tops",
               "the last bottom selects, every other has a top");
  picker_ = std::make_unique<RowPicker>(group());
}

/// Until values are known, all samples.
void FilterLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const Blob& chosen = *bottom[selector()];
  if (chosen.axes() < 1 || chosen.count() != chosen.dim(0))
    bad_shape("the last bottom must have one value per sample, it has shape " + to_string(chosen.shape()));
  for (std::size_t i = 0; i < top.size(); ++i) {
    if (bottom[i]->axes() < 1 || bottom[i]->dim(0) != chosen.dim(0))
      bad_shape("a bottom of shape " + to_string(bottom[i]->shape()) + " does not have the " +
                std::to_string(chosen.dim(0)) + " samples of the last bottom");
    top[i]->reshape(bottom[i]->shape());
  }
}

void FilterLayer::forward(const Blobs& bottom, const Blobs& top) {
  std::vector<int> index;
  const auto chosen = bottom[selector()]->data_vector();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (std::isnan(chosen[i]))
      bad_config("whether sample " + std::to_string(i) + " of this batch passes is nan", "give 0 or another number");
    if (chosen[i] != 0) index.push_back(static_cast<int>(i));
  }
  picker_->pick(index);
  for (std::size_t i = 0; i < top.size(); ++i) {
    Shape shape = bottom[i]->shape();
    shape[0] = picker_->picked();
    top[i]->reshape(shape);
    picker_->gather(bottom[i]->data(), nullptr, bottom[i]->count(1), top[i]->mutable_data());
  }
}

void FilterLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  for (std::size_t i = 0; i < top.size(); ++i) {
    if (!propagate_down[i]) continue;
    bottom[i]->zero_diff();
    picker_->sum(top[i]->diff(), bottom[i]->count(1), bottom[i]->mutable_diff());
  }
}

Layer::Cost FilterLayer::cost(const Blobs&, const Blobs& top) const {
  double n = 0;
  for (const Blob* t : top) n += static_cast<double>(t->count());
  return {0, n, 8 * n, 12 * n};
}

}  // namespace cortado
