#include "layers/image_data/image_data.h"

#include <algorithm>

#include "core/formats/caffe.pb.h"

namespace cortado {

void ImageDataLayer::divide_batch(caffe::LayerParameter& parameter, const BatchShare& share) {
  auto& p = *parameter.mutable_image_data_param();
  p.set_batch_size(static_cast<unsigned>(share(p.batch_size())));
}

BatchRequest ImageDataLayer::request() const {
  const auto& p = parameter().image_data_param();
  if ((p.new_height() > 0) != (p.new_width() > 0)) bad_config("new_height and new_width must be given together");
  if (std::max(p.new_height(), p.new_width()) > most_side)
    bad_config("new_height and new_width are " + std::to_string(p.new_height()) + " and " +
               std::to_string(p.new_width()) + ", at most " + std::to_string(most_side) + " is possible");
  if (p.has_scale() || p.has_mean_file() || p.has_crop_size() || p.has_mirror())
    bad_config("has scale, mean_file, crop_size or mirror in image_data_param", "give them in transform_param");
  BatchRequest wanted;
  wanted.kind = BatchRequest::Kind::images;
  wanted.source = p.source();
  wanted.batch = p.batch_size();
  wanted.prefetch = p.prefetch();
  if (p.shuffle()) wanted.order = SampleOrder::Kind::shuffled;
  wanted.skip = skipped(p.rand_skip());
  if (parameter().has_transform_param()) wanted.transform = &parameter().transform_param();
  wanted.images = {p.root_folder(), static_cast<int>(p.new_height()), static_cast<int>(p.new_width()), !p.is_color(),
                   p.antialias()};
  return wanted;
}

}  // namespace cortado
