#include "parallel_io/feed/sources.h"

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/feed/prefetcher.h"
#include "parallel_io/feed/window_maker.h"
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

std::unique_ptr<BatchSource> open_windows(std::unique_ptr<WindowSet> set, const BatchRequest& request, CoreGroup& group,
                                          Timeline* timeline) {
  Prefetcher::Makers makers;
  makers.push_back(std::make_unique<WindowMaker>(*set, request));
  makers.push_back(std::make_unique<Transformer>(set->fields()[1], request, false));
  return std::make_unique<Prefetcher>(std::move(set), request, group, timeline, std::move(makers));
}

}  // namespace

std::unique_ptr<BatchSource> Sources::open(const BatchRequest& request, CoreGroup& group) const {
  if (request.kind == BatchRequest::Kind::windows)
    return open_windows(std::make_unique<WindowSet>(request), request, group, timeline_);
  auto set = open_for(request, options_for(request));
  const bool checked = dynamic_cast<const Hdf5Set*>(set.get()) != nullptr;
  if (request.verify && !checked)
    throw ConfigError(request.source, "has no checksums to verify", "convert it to HDF5, plain or striped");
  return std::make_unique<Prefetcher>(std::move(set), request, group, timeline_);
}

std::unique_ptr<DataSet> open_data(const BatchRequest& request, i64 cache_bytes) {
  if (request.kind == BatchRequest::Kind::windows) return std::make_unique<WindowSet>(request);
  OpenOptions options = options_for(request);
  options.cache_bytes = cache_bytes;
  return open_for(request, options);
}

}  // namespace cortado
