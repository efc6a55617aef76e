#include "layers/hdf5_data/hdf5_data.h"

#include "core/formats/caffe.pb.h"

namespace cortado {

void Hdf5DataLayer::setup(const Blobs&, const Blobs&) {
  const auto& p = parameter().hdf5_data_param();
  if (parameter().has_transform_param())
    bad_config("takes no transform_param", "transform the data set when converting it");
  if (!p.has_source() || p.source().empty())
    bad_config("hdf5_data_param.source is missing", "name a file that lists HDF5 files");
  if (p.batch_size() < 1) bad_config("hdf5_data_param.batch_size must be at least 1");
  if (context().sources == nullptr) bad_config("no data can be read here");
  batch_ = p.batch_size();
  source_ = context().sources->open_hdf5_list(p.source(), {parameter().top().begin(), parameter().top().end()});
  // The same permutation on every rank: it must not depend on anything but the layer and the seed.
  order_ = std::make_unique<SampleOrder>(source_->samples(), p.shuffle(), random_key(0));
}

void Hdf5DataLayer::reshape(const Blobs&, const Blobs& top) {
  for (std::size_t i = 0; i < top.size(); ++i) {
    Shape shape = source_->fields()[i].sample_shape;
    shape.insert(shape.begin(), batch_);
    top[i]->reshape(shape);
  }
  staging_.resize(top.size());
}

void Hdf5DataLayer::forward(const Blobs&, const Blobs& top) {
  const i64 first = run().first_sample(batch_);
  std::vector<i64> indices;
  for (i64 i = 0; i < batch_; ++i) indices.push_back((*order_)(first + i));
  std::vector<float*> to;
  const bool direct = group().spec().host_memory;
  group().wait();  // who read the last batch must be done with it
  for (std::size_t i = 0; i < top.size(); ++i) {
    staging_[i].resize(direct ? 0 : static_cast<std::size_t>(top[i]->count()));
    to.push_back(direct ? top[i]->mutable_data() : staging_[i].data());
  }
  source_->read(indices.data(), batch_, to);
  for (std::size_t i = 0; i < top.size() && !direct; ++i)
    group().copy(top[i]->mutable_data(), to[i], static_cast<std::size_t>(top[i]->count()) * sizeof(float));
}

}  // namespace cortado
