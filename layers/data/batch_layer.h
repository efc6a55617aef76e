#pragma once
#include "core/data/batch_source.h"
#include "core/net/layer.h"
#include "layers/data/feeder.h"

namespace cortado {

/// The longest side in pixels to which images are resized or cropped: JPEG's.
constexpr unsigned most_side = 65500;

/// The common part of layers that read data sets. Every pass gives the next batch, read ahead.
///
/// A global batch of n ranks is n batch_size neighbouring positions of the sample order, and rank r takes the r-th
/// part. The position depends on the run's pass alone, so a resumed run goes on where it stopped. A batch of one sample
/// has that sample's shape. Layers of one net draw one order, and the same crops and mirrors. So two sources, such as
/// images and their labels, stay together.
class BatchLayer : public Layer {
 public:
  using Layer::Layer;
  /// Divides the `batch_size` of each message that the parameter has.
  static void divide_batch(caffe::LayerParameter& parameter, const BatchShare& share);
  Arity bottoms() const override { return {0, 0}; }
  bool allows_backward_to(std::size_t) const override { return false; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}
  std::string statistics() const override;
  /// The number of its source's samples.
  i64 samples() const { return source_->samples(); }

 protected:
  /// The request of the layer's own parameter. The base class checks `source`, `batch` and `prefetch`.
  virtual BatchRequest request() const = 0;
  /// The positions that Caffe's rand_skip leaves out at the beginning: less than `most`, drawn once.
  i64 skipped(i64 most) const;
  /// The fields `shuffle` and `shuffle_block` of a parameter that has both.
  template <class Parameter>
  void set_order(BatchRequest& wanted, const Parameter& p) const {
    if (p.has_shuffle_block() && !p.shuffle()) bad_config("shuffle_block without shuffle: true");
    wanted.block = p.shuffle_block();
    if (p.shuffle()) wanted.order = p.has_shuffle_block() ? SampleOrder::Kind::blocks : SampleOrder::Kind::shuffled;
  }

 private:
  std::unique_ptr<BatchSource> source_;
  std::unique_ptr<Feeder> feeder_;
  i64 batch_ = 0;
};

}  // namespace cortado
