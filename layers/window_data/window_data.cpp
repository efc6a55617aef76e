#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/data/batch_layer.h"

namespace cortado {
namespace {

/// Caffe's WindowData, for R-CNN: windows (top 0) and their classes (top 1), drawn at random from a text that lists
/// them with their images.
///
/// The last floor(batch_size fg_fraction) samples of a batch are foreground: windows that overlap an object by
/// fg_threshold or more, with its class. The others are background, below bg_threshold, of class 0. Each is warped to
/// crop_size x crop_size, with context_pad pixels around it. `crop_mode: "square"` makes it square first. The sample is
/// 0 where it reaches beyond the image, as behind the mean.
///
/// A draw depends on the seed and on the number of draws before. So ranks with equal batches together draw the same as
/// one rank with their whole batch.
class WindowDataLayer : public BatchLayer {
 public:
  using BatchLayer::BatchLayer;
  Arity tops() const override { return {2, 2}; }

 protected:
  BatchRequest request() const override {
    const auto& p = parameter().window_data_param();
    const auto& transform = parameter().transform_param();
    if (p.has_scale() || p.has_mean_file() || p.has_crop_size() || p.has_mirror())
      bad_config("has scale, mean_file, crop_size or mirror in window_data_param", "give them in transform_param");
    if (transform.crop_size() == 0) bad_config("has no crop_size", "give it in transform_param");
    if (transform.force_color() || transform.force_gray())
      bad_config("has force_color or force_gray in transform_param", "its source says how many channels images have");
    if (transform.has_random_resized_crop() || transform.has_color_jitter() || transform.has_pad())
      bad_config("has random_resized_crop, color_jitter or pad in transform_param", "windows are what they say");
    if (transform.crop_size() > most_side)
      bad_config("crop_size is " + std::to_string(transform.crop_size()) + ", at most " + std::to_string(most_side) +
                 " is possible");
    if (i64{2} * p.context_pad() >= transform.crop_size())
      bad_config("context_pad of " + std::to_string(p.context_pad()) +
                 " on both sides leaves nothing of a crop_size of " + std::to_string(transform.crop_size()));
    if (p.crop_mode() != "warp" && p.crop_mode() != "square")
      bad_config("crop_mode '" + p.crop_mode() + "' is not known", "say \"warp\" or \"square\"");
    if (!(p.fg_fraction() >= 0 && p.fg_fraction() <= 1)) bad_config("fg_fraction must be between 0 and 1");
    BatchRequest wanted;
    wanted.kind = BatchRequest::Kind::windows;
    wanted.source = p.source();
    wanted.batch = p.batch_size();
    wanted.transform = &transform;
    wanted.images.root = p.root_folder();
    wanted.images.antialias = p.antialias();
    auto& windows = wanted.windows;
    windows.foreground = p.fg_threshold();
    windows.background = p.bg_threshold();
    windows.fraction = p.fg_fraction();
    windows.batch = wanted.batch;
    windows.context = static_cast<int>(p.context_pad());
    windows.square = p.crop_mode() == "square";
    windows.cache = p.cache_images();
    return wanted;
  }
};

}  // namespace

void add_window_data(LayerTable& table) { table.add<WindowDataLayer>("WindowData"); }

}  // namespace cortado
