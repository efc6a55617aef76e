#pragma once
#include "layers/data/batch_layer.h"

namespace cortado {

/// Caffe's Data: images (top 0) and, if there is a second top, labels (top 1) of an LMDB folder of Datum, transformed
/// by `transform_param`. Here `source` may name a data set of any format that Cortado reads: striped or plain HDF5,
/// IDX, CIFAR, image folders and lists. Its content tells the format. Cortado's own fields are `shuffle` (a fresh
/// permutation each epoch; in Caffe the order is that of the keys), `shuffle_block` and `verify`.
class DataLayer : public BatchLayer {
 public:
  using BatchLayer::BatchLayer;
  static void divide_batch(caffe::LayerParameter& parameter, const BatchShare& share);
  Arity tops() const override { return {1, 2}; }

 protected:
  BatchRequest request() const override;
};

}  // namespace cortado
