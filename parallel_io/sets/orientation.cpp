#include "parallel_io/sets/orientation.h"

#include <libexif/exif-data.h>

#include <limits>
#include <memory>
#include <utility>

namespace cortado {

int exif_orientation(const unsigned char* jpeg, std::size_t count) {
  if (count > std::numeric_limits<unsigned int>::max()) return 1;
  const std::unique_ptr<ExifData, void (*)(ExifData*)> data(
      exif_data_new_from_data(jpeg, static_cast<unsigned int>(count)), &exif_data_unref);
  if (!data) return 1;
  const ExifEntry* const entry = exif_content_get_entry(data->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
  if (entry == nullptr || entry->format != EXIF_FORMAT_SHORT || entry->size < 2) return 1;
  const int value = exif_get_short(entry->data, exif_data_get_byte_order(data.get()));
  return value >= 1 && value <= 8 ? value : 1;
}

bool exchanges_sides(int orientation) { return orientation >= 5; }

Image oriented(Image image, int orientation) {
  if (orientation <= 1) return image;
  const bool exchanges = exchanges_sides(orientation);
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8,
             from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image seen{image.channels, exchanges ? image.width : image.height, exchanges ? image.height : image.width, {}};
  seen.values.reserve(image.values.size());
  for (int c = 0; c < seen.channels; ++c)
    for (int y = 0; y < seen.height; ++y)
      for (int x = 0; x < seen.width; ++x) {
        const int row = exchanges ? x : y, column = exchanges ? y : x;
        seen.values.push_back(
            image.at(c, from_bottom ? image.height - 1 - row : row, from_right ? image.width - 1 - column : column));
      }
  return seen;
}

}  // namespace cortado
