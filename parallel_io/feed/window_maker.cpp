#include "parallel_io/feed/window_maker.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/sets/image.h"

namespace cortado {
namespace {
int rounded(float value) { return static_cast<int>(std::round(value)); }
}  // namespace

WindowMaker::WindowMaker(const WindowSet& set, const BatchRequest& request)
    : set_(set),
      channels_(set.channels()),
      crop_(static_cast<int>(request.transform->crop_size())),
      context_(request.windows.context),
      square_(request.windows.square),
      antialias_(request.images.antialias),
      mirror_(request.transform->mirror()),
      scale_(request.transform->scale()),
      mean_(read_mean(request, channels_)) {
  shape_ = {channels_, crop_, crop_};
  const bool fits = mean_.image.empty() || (mean_.shape.size() == 3 && mean_.shape[0] == channels_ &&
                                            mean_.shape[1] >= crop_ && mean_.shape[2] >= crop_);
  if (!fits)
    throw FileError(request.transform->mean_file(),
                    "has shape " + to_string(mean_.shape) + ", which does not hold crops of " + to_string(shape_));
}

WindowMaker::Place WindowMaker::place_of(const WindowSet::Window& window, int height, int width, bool mirrored) const {
  Place place{window.x1, window.y1, window.x2, window.y2, 0, 0, crop_, crop_};
  if (context_ == 0 && !square_) return place;
  // Grown by this factor, and warped to the crop, the window has `context` pixels on every side.
  const float grow = static_cast<float>(crop_) / static_cast<float>(crop_ - 2 * context_);
  float half_height = static_cast<float>(window.y2 - window.y1 + 1) / 2,
        half_width = static_cast<float>(window.x2 - window.x1 + 1) / 2;
  const float x = static_cast<float>(window.x1) + half_width, y = static_cast<float>(window.y1) + half_height;
  if (square_) half_height = half_width = std::max(half_height, half_width);
  place.x1 = rounded(x - half_width * grow);
  place.x2 = rounded(x + half_width * grow);
  place.y1 = rounded(y - half_height * grow);
  place.y2 = rounded(y + half_height * grow);
  const float scale_x = static_cast<float>(crop_) / static_cast<float>(place.x2 - place.x1 + 1),
              scale_y = static_cast<float>(crop_) / static_cast<float>(place.y2 - place.y1 + 1);
  const int left = std::max(0, -place.x1), right = std::max(0, place.x2 - width + 1), top = std::max(0, -place.y1),
            bottom = std::max(0, place.y2 - height + 1);
  place.x1 += left;
  place.x2 -= right;
  place.y1 += top;
  place.y2 -= bottom;
  place.left = rounded(static_cast<float>(mirrored ? right : left) * scale_x);
  place.top = rounded(static_cast<float>(top) * scale_y);
  // Rounding may put the end a pixel beyond the crop.
  place.width = std::min(rounded(static_cast<float>(place.x2 - place.x1 + 1) * scale_x), crop_ - place.left);
  place.height = std::min(rounded(static_cast<float>(place.y2 - place.y1 + 1) * scale_y), crop_ - place.top);
  return place;
}

void WindowMaker::operator()(const StoredSample& sample, const std::function<std::string()>& where,
                             const Room& room) const {
  const Image whole =
      decode_image(sample.bytes, static_cast<std::size_t>(sample.count), where(), static_cast<int>(channels_));
  const auto draw = set_.draw(sample.position);
  const bool mirrored = mirror_ && draw.coin;
  const Place place = place_of(draw.window, whole.height, whole.width, mirrored);
  if (place.x1 < 0 || place.y1 < 0 || place.x2 >= whole.width || place.y2 >= whole.height || place.x2 < place.x1 ||
      place.y2 < place.y1)
    throw FileError(where(), "is not inside the image, which has " + std::to_string(whole.width) + " x " +
                                 std::to_string(whole.height) + " pixels");
  float* const to = room(shape_);
  std::fill_n(to, count_of(shape_), 0.0f);
  if (place.width < 1 || place.height < 1) return;
  const Image part = resize(cut(whole.values.data(), whole.channels, whole.height, whole.width,
                                {place.y1, place.x1, place.y2 - place.y1 + 1, place.x2 - place.x1 + 1}),
                            {place.height, place.width, antialias_});
  const auto mean_of = [&](int c, int y, int x) {
    if (!mean_.channel.empty()) return mean_.channel[static_cast<std::size_t>(c)];
    if (mean_.image.empty()) return 0.0f;
    const i64 row = y + (mean_.shape[1] - crop_) / 2, column = x + (mean_.shape[2] - crop_) / 2;
    return mean_.image[static_cast<std::size_t>((c * mean_.shape[1] + row) * mean_.shape[2] + column)];
  };
  for (int c = 0; c < part.channels; ++c) {
    const int stored = part.channels - 1 - c;  // a decoded image is red, green, blue
    for (int y = 0; y < part.height; ++y)
      for (int x = 0; x < part.width; ++x) {
        const int row = place.top + y, column = place.left + x;
        const auto value = static_cast<float>(part.at(stored, y, mirrored ? part.width - 1 - x : x));
        to[(static_cast<i64>(c) * crop_ + row) * crop_ + column] = (value - mean_of(c, row, column)) * scale_;
      }
  }
}

}  // namespace cortado
