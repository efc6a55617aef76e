#pragma once
#include "layers/data/batch_layer.h"

namespace cortado {

/// Caffe's Data: images (top 0) and, if wanted, labels (top 1) of an LMDB folder of Datum, transformed as
/// `transform_param` says. Here `source` may name a data set of any format that Cortado reads, told by its content:
/// striped or plain HDF5, IDX, CIFAR, image folders and lists. Cortado's own fields: `shuffle` (a fresh permutation
/// each epoch; in Caffe the order is that of the keys), `shuffle_block`, `verify`.
class DataLayer : public BatchLayer {
 public:
  using BatchLayer::BatchLayer;
  static void divide_batch(caffe::LayerParameter& parameter, const BatchShare& share);
  Arity tops() const override { return {1, 2}; }

 protected:
  BatchRequest request() const override;
};

}  // namespace cortado
