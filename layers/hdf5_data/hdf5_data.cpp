#include "layers/hdf5_data/hdf5_data.h"

#include "core/formats/caffe.pb.h"

namespace cortado {

void Hdf5DataLayer::divide_batch(caffe::LayerParameter& parameter, const BatchShare& share) {
  auto& p = *parameter.mutable_hdf5_data_param();
  p.set_batch_size(static_cast<unsigned>(share(p.batch_size())));
}

BatchRequest Hdf5DataLayer::request() const {
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

}  // namespace cortado
