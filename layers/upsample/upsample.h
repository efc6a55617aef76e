#pragma once
#include "core/net/layer.h"
#include "layers/upsample/programs.h"

namespace cortado {

/// Upsample of two forks, of N x C x H x W.
///
/// With one bottom, YOLO's: every pixel becomes scale_h x scale_w pixels of its value.
///
/// With two, SegNet's: the second is the mask that a MAX Pooling's second top gives. Pixels go to the places of their
/// plane that the mask names; the others are 0. The top's sizes are upsample_h and upsample_w, or the bottom's times
/// the scale, one less where pad_out_h or pad_out_w say so. The mask has no gradient. Where it names a place twice the
/// last pixel counts, and all of these pixels get the place's gradient, as in SegNet's.
class UpsampleLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {1, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }
  bool has_zero_gradient(std::size_t i) const override { return i == 1; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  void read_scale();
  void find_spans(const Blob& mask);

  i64 scale_h_ = 0, scale_w_ = 0;  // 0: the parameter gives the top's sizes
  RepeatedPixels repeated_{};
  MaskedPlanes masked_{};
  i64 block_ = 1;                // of places, where they are masked
  std::unique_ptr<Blob> spans_;  // of pieces: lowest and highest place, then the numbers of wrong values
  std::unique_ptr<Blob> wrong_;  // all of these
};

}  // namespace cortado
