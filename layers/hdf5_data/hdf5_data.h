#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's HDF5Data: every pass gives the next batch_size samples of the HDF5 files that a list names; one top per data
/// set, named like it. With n ranks a global batch is n batch_size neighbouring positions of the sample order, rank r
/// takes the r-th part. The position is a function of the run's pass alone, so a resumed run goes on where it stopped.
/// `shuffle` visits the samples in a fresh permutation each epoch. Applies no transforms, as in Caffe (see `convert`).
class Hdf5DataLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {0, 0}; }
  Arity tops() const override { return {1, -1}; }
  bool allows_backward_to(std::size_t) const override { return false; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}

 private:
  std::unique_ptr<BatchSource> source_;
  std::unique_ptr<SampleOrder> order_;
  i64 batch_ = 0;
  std::vector<std::vector<float>> staging_;  // per top, where cluster memory is not the host's
};

}  // namespace cortado
