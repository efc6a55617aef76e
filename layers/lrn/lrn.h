#pragma once
#include "core/net/layer.h"

namespace cortado {

struct LrnShape;

/// Caffe's LRN. Across channels: y = x / (k + alpha / n * sum of squares over n channels)^beta. Within a channel the
/// window is the n x n pixels around each, with alpha / n^2, and k is 1. n is local_size, odd.
class LrnLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return across(); }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  LrnShape cut(const Blob& bottom, i64 arrays) const;
  bool across() const;
  template <bool blocks, class T>
  void run_forward(const Blob& bottom, Blob& top);
  template <bool blocks, class T>
  void backward_across(const Blob& top, Blob& bottom);
  template <class T>
  void backward_within(const Blob& top, Blob& bottom);
  std::unique_ptr<Blob> scale_;
};

}  // namespace cortado
