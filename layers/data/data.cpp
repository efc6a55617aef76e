#include "layers/data/data.h"

#include "core/formats/caffe.pb.h"

namespace cortado {

void DataLayer::divide_batch(caffe::LayerParameter& parameter, const BatchShare& share) {
  auto& p = *parameter.mutable_data_param();
  p.set_batch_size(static_cast<unsigned>(share(p.batch_size())));
}

BatchRequest DataLayer::request() const {
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

}  // namespace cortado
