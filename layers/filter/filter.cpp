#include <cmath>
#include <numeric>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/rows/rows.h"

namespace cortado {
namespace {

/// Caffe's Filter: takes the samples of all bottoms but the last whose value in the last bottom is not 0, one top for
/// each bottom. The tops' batch differs from pass to pass, and may be none.
class FilterLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, -1}; }
  Arity tops() const override { return {1, -1}; }
  bool allows_backward_to(std::size_t i) const override { return i < selector(); }
  bool shapes_tops_in_forward() const override { return true; }
  void setup(const Blobs& bottom, const Blobs& top) override {
    if (top.size() + 1 != bottom.size())
      bad_config(std::to_string(bottom.size()) + " bottoms need " + std::to_string(bottom.size() - 1) + " tops",
                 "the last bottom selects, every other has a top");
    picker_ = std::make_unique<RowPicker>(group());
  }

  /// Until values are known, all samples.
  void reshape(const Blobs& bottom, const Blobs& top) override {
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

  void forward(const Blobs& bottom, const Blobs& top) override {
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

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    for (std::size_t i = 0; i < top.size(); ++i) {
      if (!propagate_down[i]) continue;
      bottom[i]->zero_diff();
      picker_->sum(top[i]->diff(), bottom[i]->count(1), bottom[i]->mutable_diff());
    }
  }

  Cost cost(const Blobs&, const Blobs& top) const override {
    double n = 0;
    for (const Blob* t : top) n += static_cast<double>(t->count());
    return {0, n, 8 * n, 12 * n};
  }

 private:
  std::size_t selector() const { return static_cast<std::size_t>(parameter().bottom_size()) - 1; }

  std::unique_ptr<RowPicker> picker_;
};

}  // namespace

void add_filter(LayerTable& table) { table.add<FilterLayer>("Filter"); }

}  // namespace cortado
