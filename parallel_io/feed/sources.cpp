#include "parallel_io/feed/sources.h"

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/feed/prefetcher.h"
#include "parallel_io/feed/window_maker.h"
#include "parallel_io/feed/zero_source.h"
#include "parallel_io/sets/hdf5_set.h"
#include "parallel_io/sets/image_set.h"

namespace cortado {
namespace {

OpenOptions options_for(const BatchRequest& request) {
  OpenOptions options;
  if (!request.fields.empty()) options.fields = request.fields;
  options.verify = request.verify;
  options.root = request.images.root;
  options.any_shape = request.batch == 1;
  options.any_label = true;
  if (request.kind == BatchRequest::Kind::images) options.channels = request.images.grey ? 1 : 3;
  if (request.transform != nullptr && request.transform->force_color() && request.transform->force_gray())
    throw ConfigError(request.source, "transform_param has both force_color and force_gray", "give one of them");
  if (request.transform != nullptr && request.transform->force_color()) options.channels = 3;
  if (request.transform != nullptr && request.transform->force_gray()) options.channels = 1;
  return options;
}

std::unique_ptr<DataSet> open_for(const BatchRequest& request, const OpenOptions& options) {
  switch (request.kind) {
    case BatchRequest::Kind::hdf5: return std::make_unique<Hdf5Set>(request.source, options);
    case BatchRequest::Kind::images: return std::make_unique<ImageSet>(request.source, options);
    default: return open_set(request.source, options);
  }
}

struct Opened {
  std::unique_ptr<DataSet> set;
  Prefetcher::Makers makers;
};

Opened open_windows(const BatchRequest& request) {
  auto set = std::make_unique<WindowSet>(request);
  Prefetcher::Makers makers;
  makers.push_back(std::make_unique<WindowMaker>(*set, request));
  makers.push_back(std::make_unique<Transformer>(set->fields()[1], request, false));
  return {std::move(set), std::move(makers)};
}

Opened opened(const BatchRequest& request) {
  if (request.kind == BatchRequest::Kind::windows) return open_windows(request);
  auto set = open_for(request, options_for(request));
  const bool checked = dynamic_cast<const Hdf5Set*>(set.get()) != nullptr;
  if (request.verify && !checked)
    throw ConfigError(request.source, "has no checksums to verify", "convert it to HDF5, plain or striped");
  auto makers = Prefetcher::transformers_of(*set, request);
  return {std::move(set), std::move(makers)};
}

}  // namespace

std::unique_ptr<BatchSource> Sources::open(const BatchRequest& request, CoreGroup& group) const {
  Opened source = opened(request);
  return std::make_unique<Prefetcher>(std::move(source.set), request, group, timeline_, std::move(source.makers));
}

std::unique_ptr<BatchSource> ShapesOnly::open(const BatchRequest& request, CoreGroup& group) const {
  const Opened source = opened(request);
  std::vector<Shape> shapes;
  for (const auto& maker : source.makers) shapes.push_back(maker->sample_shape());
  i64 stored = 0;  // of encoded images it is known when they are read, and little
  for (const auto& field : source.set->fields())
    if (field.stored != Stored::encoded) stored += request.batch * field.sample_bytes();
  return std::make_unique<ZeroSource>(shapes, source.set->samples(), request.batch,
                                      request.prefetch + Prefetcher::batches_in_use, stored, group);
}

std::unique_ptr<DataSet> open_data(const BatchRequest& request, i64 cache_bytes) {
  if (request.kind == BatchRequest::Kind::windows) return std::make_unique<WindowSet>(request);
  OpenOptions options = options_for(request);
  options.cache_bytes = cache_bytes;
  return open_for(request, options);
}

}  // namespace cortado
