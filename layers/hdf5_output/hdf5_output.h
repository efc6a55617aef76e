#pragma once
#include "core/data/array_sink.h"
#include "core/net/layer.h"

namespace cortado {

/// Caffe's HDF5Output: writes its bottoms, N samples each, to the arrays `data` and `label` of the HDF5 file
/// `file_name`. Every forward pass appends N rows, which are in the file afterwards. With several ranks, rank r writes
/// its own samples to a file of its own: "out.h5" becomes "out.rank3.h5".
///
/// The first pass replaces an existing file. Training that goes on from a snapshot continues the file instead, behind
/// the rows of the passes before that snapshot. It has no gradient, and works on the management side.
class Hdf5OutputLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, 2}; }
  Arity tops() const override { return {0, 0}; }
  bool allows_backward_to(std::size_t /*i*/) const override { return false; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}

 private:
  std::string file_name() const;

  std::shared_ptr<const void> held_;  // the file, from setup on: two nets of a solver may name one
  std::unique_ptr<ArraySink> sink_;   // opened by the first forward, so that building a net makes no file
  std::vector<Shape> rows_;           // of a sample of each bottom
};

}  // namespace cortado
