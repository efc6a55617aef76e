#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/data/batch_layer.h"

namespace cortado {
namespace {

/// Caffe's ImageData: images (top 0) and labels (top 1) of a text that lists JPEG and PNG files, `root_folder` before
/// each. Images are resized to new_height x new_width by bilinear interpolation, in colour (blue, green, red) or grey,
/// then transformed.
class ImageDataLayer : public BatchLayer {
 public:
  using BatchLayer::BatchLayer;
  Arity tops() const override { return {1, 2}; }

 protected:
  BatchRequest request() const override {
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
};

}  // namespace

void add_image_data(LayerTable& table) { table.add<ImageDataLayer>("ImageData"); }

}  // namespace cortado
