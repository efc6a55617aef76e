#pragma once
#include "layers/data/batch_layer.h"

namespace cortado {

/// Caffe's HDF5Data: one top per array of HDF5 files, with the array's name. `source` is a text that lists files, or
/// names one file, or the master of a striped set. `shuffle` visits the samples in a fresh permutation each epoch.
/// Cortado's own fields are `shuffle_block` and `verify`, as in Data. It applies no transforms, as in Caffe.
class Hdf5DataLayer : public BatchLayer {
 public:
  using BatchLayer::BatchLayer;
  static void divide_batch(caffe::LayerParameter& parameter, const BatchShare& share);
  Arity tops() const override { return {1, -1}; }

 protected:
  BatchRequest request() const override;
};

}  // namespace cortado
