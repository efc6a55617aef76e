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

/// Decodes the bytes of a JPEG or PNG file to 1 channel (grey), 3, or 0: as many as it has. JPEGs in CMYK and YCCK come
/// as OpenCV, and so Caffe, gives them. Throws FileError for `where`.
Image decode_image(const void* bytes, std::size_t count, const std::string& where, int channels = 0);
/// A PNG file whose pixels are numbers of classes: one channel, the values of a grey image of 8 bits or, of an image
/// with a palette, as VOC's labels are, places in it. Throws FileError for `where`, also for colours.
Image decode_labels(const void* bytes, std::size_t count, const std::string& where);
/// What becomes of images that end early or are damaged otherwise, and still decode to something: by default a warning
/// each, for the first few, and a count at the end; strict: a FileError.
void refuse_damaged_images();
/// Logs how many were damaged, if any were.
void report_damaged_images();
/// Takes note of one, `what` is wrong with it. Any thread may. Throws FileError where they are refused.
void note_damaged_image(const std::string& where, const std::string& what);

/// decode_image of a file.
Image read_image(const std::string& file, int channels = 3);
/// A PNG file of an image with 1 or 3 channels, to be written. Loses nothing.
std::vector<std::uint8_t> encode_png(const Image& image);

/// Bilinear interpolation between pixel centres.
Image resize(const Image& image, int height, int width);

/// Nearest neighbours, for what cannot be mixed.
Image resize_labels(const Image& image, int height, int width);

/// Whether the name ends like a file that read_image reads.
bool is_image_name(const std::string& name);

}  // namespace cortado
