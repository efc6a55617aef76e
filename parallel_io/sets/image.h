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

/// The most pixels that an image may have, 11585 x 11585.
constexpr std::size_t most_pixels = std::size_t{1} << 27;

/// The size to which images are resized, and the method. Without a height and a shorter side each keeps its own.
struct ImageSize {
  int height = 0, width = 0;
  /// False: bilinear interpolation between pixel centres, to the bit as OpenCV's resize, and so Caffe's, does it. Most
  /// pixels of a much larger image have no part in it. True: all pixels count, by a triangle filter as wide as the
  /// ratio of sizes, as in Pillow's bilinear resize.
  bool antialias = false;
  /// Not 0: the shorter side becomes so long, and the longer one keeps the ratio, rounded down, as in torchvision's
  /// Resize. Height and width are 0 then.
  int shorter = 0;
  /// Not 0: so many pixels are cut out of the middle of what is resized, as in torchvision's CenterCrop.
  int crop_height = 0, crop_width = 0;

  bool resizes() const { return height > 0 || shorter > 0; }
  bool crops() const { return crop_height > 0; }
  bool changes() const { return resizes() || crops(); }
};
/// Height and width of an image, in pixels.
struct ImageSides {
  int height, width;
};
/// The sides to which an image of the sides `from` is resized, before it is cropped.
ImageSides resized(const ImageSides& from, const ImageSize& size);
/// The sides of an image of the sides `from` once `size` has been applied. Throws ConfigError for `where` if that is
/// smaller than the part to cut out, or if there are more than most_pixels on the way.
ImageSides sides_of(const ImageSides& from, const ImageSize& size, const std::string& where);
/// Throws ConfigError for `where` if the size has more than most_pixels.
void check_size(const ImageSize& size, const std::string& where);

/// Decodes the bytes of a JPEG or PNG file to 1 channel (grey), 3, or 0, which means as many as it has. JPEGs in CMYK
/// and YCCK, and those that EXIF's orientation turns, come as OpenCV, and so Caffe, gives them. `size` resizes and
/// crops. If it has height and width and is antialiased, a JPEG is decoded at the smallest of TurboJPEG's scales up to
/// 1/2 that is no smaller. Throws FileError for `where`, and ConfigError if the image is too small, or too long.
Image decode_image(const void* bytes, std::size_t count, const std::string& where, int channels = 0,
                   const ImageSize& size = {});
/// Decodes a PNG file whose pixels are numbers of classes, one channel. They are the values of a grey image of 8 bits.
/// An image with a palette, such as VOC's labels, gives its indices. Throws FileError for `where`, also for
/// colours.
Image decode_labels(const void* bytes, std::size_t count, const std::string& where);
/// Makes damaged images a FileError: images that end early, or are damaged otherwise, and still decode. Otherwise the
/// first few give a warning each, and the end a count.
void refuse_damaged_images();
/// The damaged images that this process has noted, a digest a line.
std::string damaged_images();
/// Logs the number of different damaged images of all processes, if any. `of_ranks` are their damaged_images().
void report_damaged_images(const std::vector<std::string>& of_ranks);
/// Notes a damaged image; `what` is the damage. An image counts once, however often it is decoded. Any thread may call
/// it. Throws FileError where damaged images are refused.
void note_damaged_image(const std::string& where, const std::string& what);

/// Decodes a file as decode_image does.
Image read_image(const std::string& file, int channels = 3, const ImageSize& size = {});
/// The bytes of a PNG file of an image with 1 or 3 channels, without loss.
std::vector<std::uint8_t> encode_png(const Image& image);

/// Resizes and crops. The image is large enough for that (sides_of).
Image resize(const Image& image, const ImageSize& size);

/// A part of an image, in pixels.
struct ImagePart {
  int row, column, height, width;
};
/// Cuts a part out of `channels` planes of height x width pixels, inside of which it lies.
Image cut(const std::uint8_t* planes, int channels, int height, int width, const ImagePart& part);

/// Resizes by nearest neighbours to height and width, for labels, which cannot be mixed.
Image resize_labels(const Image& image, const ImageSize& size);

/// True if the name has the extension of a file that read_image reads.
bool is_image_name(const std::string& name);

}  // namespace cortado
