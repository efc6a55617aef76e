#pragma once
#include "core/net/layer.h"

namespace cortado {

/// PriorBox of SSD's fork: boxes around the middle of every pixel of the first bottom, a map made of the image that the
/// second bottom has the size of. The top is 1 x 2 x (H W boxes 4): corners (xmin, ymin, xmax, ymax) as parts of the
/// image, then a variance for each. For each min_size there is a square of it, with max_size one of sqrt(min max), and
/// a box for each aspect ratio but 1 and, with `flip`, for its inverse. Sizes count whole pixels, as in the fork.
/// Bottoms' values do not matter, so there is no gradient.
class PriorBoxLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, 2}; }
  bool allows_backward_to(std::size_t /*i*/) const override { return false; }
  bool uses_shape_only(std::size_t /*i*/) const override { return true; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;

 private:
  struct Size {
    double width, height;
  };
  void read_sizes();
  /// The boxes of a pixel, in pixels of the image.
  void read_boxes();
  void read_variances();

  std::vector<Size> boxes_;
  std::vector<float> variances_;   // of the four numbers of a box
  Size image_{0, 0}, step_{0, 0};  // 0: by the bottoms
  std::unique_ptr<Blob> priors_;   // as the top has them
};

}  // namespace cortado
