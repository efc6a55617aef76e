#pragma once
#include "core/net/layer.h"
#include "layers/rows/rows.h"

namespace cortado {

/// Caffe's Filter: takes the samples of all bottoms but the last whose value in the last bottom is not 0, one top for
/// each bottom. The tops' batch differs from pass to pass, and may be none.
class FilterLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, -1}; }
  Arity tops() const override { return {1, -1}; }
  bool allows_backward_to(std::size_t i) const override { return i < selector(); }
  bool shapes_tops_in_forward() const override { return true; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  std::size_t selector() const;  // the bottom that selects
  std::unique_ptr<RowPicker> picker_;
};

}  // namespace cortado
