#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cortado {

/// 8-bit pixels, channel by channel (red, green, blue; or grey), rows from the top.
struct Image {
  int channels = 0, height = 0, width = 0;
  std::vector<std::uint8_t> values;
  std::uint8_t at(int c, int y, int x) const { return values[static_cast<std::size_t>((c * height + y) * width + x)]; }
};

/// Decodes a JPEG or PNG file to 3 channels, or to 1 with `grey`. Throws FileError.
Image read_image(const std::string& file, bool grey = false);

/// Bilinear interpolation between pixel centres.
Image resize(const Image& image, int height, int width);

/// Whether the name ends like a file that read_image reads.
bool is_image_name(const std::string& name);

}  // namespace cortado
