#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/data/batch_layer.h"

namespace cortado {
namespace {

/// Caffe's HDF5Data: one top per array of HDF5 files, with the array's name. `source` is a text that lists files, or
/// names one file, or the master of a striped set. `shuffle` visits the samples in a fresh permutation each epoch.
/// Cortado's own fields are `shuffle_block` and `verify`, as in Data. It applies no transforms, as in Caffe.
class Hdf5DataLayer : public BatchLayer {
 public:
  using BatchLayer::BatchLayer;
  Arity tops() const override { return {1, -1}; }

 protected:
  BatchRequest request() const override {
    const auto& p = parameter().hdf5_data_param();
    if (parameter().has_transform_param())
      bad_config("takes no transform_param", "use a Data layer, which reads HDF5 too, or transform when converting");
    BatchRequest wanted;
    wanted.kind = BatchRequest::Kind::hdf5;
    wanted.source = p.source();
    wanted.batch = p.batch_size();
    wanted.prefetch = p.prefetch();
    wanted.fields = {parameter().top().begin(), parameter().top().end()};
    wanted.verify = p.verify();
    set_order(wanted, p);
    return wanted;
  }
};

}  // namespace

void add_hdf5_data(LayerTable& table) { table.add<Hdf5DataLayer>("HDF5Data"); }

}  // namespace cortado
