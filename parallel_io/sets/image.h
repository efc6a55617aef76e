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

/// Those that an image may have, 11585 x 11585.
constexpr std::size_t most_pixels = std::size_t{1} << 27;

/// A size that images are brought to, and how; height 0: each keeps its own.
struct ImageSize {
  int height = 0, width = 0;
  /// Off: bilinear interpolation between pixel centres, to the bit as OpenCV's resize, so Caffe's, does it; most pixels
  /// of a much larger image have no part in it. On: all pixels have, by a triangle filter as wide as the shrinking
  /// asks for, as in Pillow's bilinear resize.
  bool antialias = false;
};
/// Throws ConfigError for `where` if it has more pixels than any image may have.
void check_size(const ImageSize& size, const std::string& where);

/// Decodes the bytes of a JPEG or PNG file to 1 channel (grey), 3, or 0: as many as it has. JPEGs in CMYK and YCCK, and
/// those that EXIF's orientation turns, come as OpenCV, and so Caffe, gives them. With `size`, resized; if that is
/// antialiased, a JPEG is decoded at the smallest of TurboJPEG's scales up to 1/2 that is no smaller. Throws FileError
/// for `where`.
Image decode_image(const void* bytes, std::size_t count, const std::string& where, int channels = 0,
                   const ImageSize& size = {});
/// A PNG file whose pixels are numbers of classes: one channel, the values of a grey image of 8 bits or, of an image
/// with a palette, as VOC's labels are, places in it. Throws FileError for `where`, also for colours.
Image decode_labels(const void* bytes, std::size_t count, const std::string& where);
/// What becomes of images that end early or are damaged otherwise, and still decode to something: by default a warning
/// each, for the first few, and a count at the end; strict: a FileError.
void refuse_damaged_images();
/// Those that this process took note of, a digest a line.
std::string damaged_images();
/// Logs how many different ones the processes have, if any. `of_ranks` are their damaged_images().
void report_damaged_images(const std::vector<std::string>& of_ranks);
/// Takes note of one, `what` is wrong with it; each counts once, however often it is decoded. Any thread may. Throws
/// FileError where they are refused.
void note_damaged_image(const std::string& where, const std::string& what);

/// decode_image of a file.
Image read_image(const std::string& file, int channels = 3, const ImageSize& size = {});
/// A PNG file of an image with 1 or 3 channels, to be written. Loses nothing.
std::vector<std::uint8_t> encode_png(const Image& image);

Image resize(const Image& image, const ImageSize& size);

/// Nearest neighbours, for what cannot be mixed.
Image resize_labels(const Image& image, const ImageSize& size);

/// Whether the name ends like a file that read_image reads.
bool is_image_name(const std::string& name);

}  // namespace cortado
