// In place of image_decoders.cpp where the image libraries are left out (CORTADO_IMAGES=OFF).
#include "core/base/error.h"
#include "parallel_io/sets/image.h"

namespace cortado {

Image decode_image(const void*, std::size_t, const std::string& where, int, const ImageSize&) {
  throw FileError(where, "cannot be read: this build has no image libraries",
                  "convert images with a build that has them");
}

Image decode_labels(const void* bytes, std::size_t count, const std::string& where) {
  return decode_image(bytes, count, where, 1, {});
}

std::vector<std::uint8_t> encode_png(const Image&) {
  throw FileError("PNG", "cannot be written: this build has no image libraries", "use a build that has them");
}

}  // namespace cortado
