#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/data/batch_layer.h"

namespace cortado {
namespace {

/// Caffe's Data: images (top 0) and, if there is a second top, labels (top 1) of an LMDB folder of Datum, transformed
/// by `transform_param`. Here `source` may name a data set of any format that Cortado reads: striped or plain HDF5,
/// IDX, CIFAR, image folders and lists. Its content tells the format. Cortado's own fields are `shuffle` (a fresh
/// permutation each epoch; in Caffe the order is that of the keys), `shuffle_block` and `verify`.
class DataLayer : public BatchLayer {
 public:
  using BatchLayer::BatchLayer;
  Arity tops() const override { return {1, 2}; }

 protected:
  BatchRequest request() const override {
    const auto& p = parameter().data_param();
    if (p.has_backend() && p.backend() == caffe::DataParameter::LEVELDB)
      bad_config("backend: LEVELDB is not read here", "convert the data to LMDB, and say backend: LMDB or nothing");
    if (p.has_scale() || p.has_mean_file() || p.has_crop_size() || p.has_mirror())
      bad_config("has scale, mean_file, crop_size or mirror in data_param", "give them in transform_param");
    BatchRequest wanted;
    wanted.source = p.source();
    wanted.fields = {"data"};
    if (parameter().top_size() > 1) wanted.fields.push_back("label");
    wanted.batch = p.batch_size();
    wanted.prefetch = p.prefetch();
    wanted.verify = p.verify();
    set_order(wanted, p);
    wanted.skip = skipped(p.rand_skip());
    if (parameter().has_transform_param()) wanted.transform = &parameter().transform_param();
    return wanted;
  }
};

}  // namespace

void add_data(LayerTable& table) { table.add<DataLayer>("Data"); }

}  // namespace cortado
