// In place of image_decoders.cpp where the image libraries are left out (CORTADO_IMAGES=OFF).
#include "core/base/error.h"
#include "parallel_io/image.h"

namespace cortado {

Image read_image(const std::string& file, bool) {
  throw FileError(file, "cannot be read: this build has no image libraries",
                  "convert images with a build that has them");
}

}  // namespace cortado
