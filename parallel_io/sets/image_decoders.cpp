#include <png.h>
#include <turbojpeg.h>

#include <memory>

#include "core/base/error.h"
#include "parallel_io/sets/image.h"
#include "parallel_io/sets/orientation.h"

namespace cortado {
namespace {
/// Checks the size that a file claims against what the file can hold, because the claim decides about memory.
void check_size(std::size_t width, std::size_t height, bool holds_them, const std::string& file) {
  const std::string size = std::to_string(width) + " x " + std::to_string(height) + " pixels";
  if (!holds_them) throw FileError(file, "cannot hold the " + size + " that it claims", "it is damaged");
  if (width * height > most_pixels)
    throw FileError(file, "has " + size + ", more than " + std::to_string(most_pixels), "scale it down");
}

/// From pixels with their channels side by side.
Image from_interleaved(const std::vector<unsigned char>& pixels, int channels, int height, int width) {
  Image image{channels, height, width, std::vector<std::uint8_t>(pixels.size())};
  const std::size_t plane = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  for (std::size_t i = 0; i < plane; ++i)
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c)
      image.values[c * plane + i] = pixels[i * static_cast<std::size_t>(channels) + c];
  return image;
}

/// The grey that JPEG stores (ITU-R BT.601), in OpenCV's whole numbers. libpng itself weighs colours in another way.
std::vector<unsigned char> luminance(const std::vector<unsigned char>& rgb) {
  std::vector<unsigned char> grey(rgb.size() / 3);
  for (std::size_t i = 0; i < grey.size(); ++i) {
    const unsigned char* const p = rgb.data() + 3 * i;
    grey[i] = static_cast<unsigned char>((4899 * p[0] + 9617 * p[1] + 1868 * p[2] + (1 << 13)) >> 14);
  }
  return grey;
}

/// Red, green and blue of cyan, magenta, yellow and black, which Adobe stores inverted: 255 is no ink. OpenCV takes all
/// such files so, whether they have Adobe's marker or not.
std::vector<unsigned char> light_of(const std::vector<unsigned char>& inks) {
  std::vector<unsigned char> rgb(inks.size() / 4 * 3);
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    const int ink = inks[i / 3 * 4 + i % 3], black = inks[i / 3 * 4 + 3];
    rgb[i] = static_cast<unsigned char>(black - ((255 - ink) * black >> 8));
  }
  return rgb;
}

/// The smallest of TurboJPEG's scales at which an image has that size at least, of those up to 1/2: decoding at 5/8,
/// 3/4 and 7/8 takes longer than decoding all.
tjscalingfactor scale_for(int height, int width, const ImageSize& size) {
  tjscalingfactor best{1, 1};
  int count = 0;
  const tjscalingfactor* const all = tjGetScalingFactors(&count);
  for (int i = 0; i < count; ++i)
    if (2 * all[i].num <= all[i].denom && all[i].num * best.denom < best.num * all[i].denom &&
        TJSCALED(height, all[i]) >= size.height && TJSCALED(width, all[i]) >= size.width)
      best = all[i];
  return best;
}

Image decode_jpeg(const unsigned char* bytes, std::size_t count, const std::string& file, int channels,
                  const ImageSize& size) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), &tjDestroy);
  int width = 0, height = 0, sampling = 0, colours = 0;
  const auto length = static_cast<unsigned long>(count);
  if (tjDecompressHeader3(decoder.get(), bytes, length, &width, &height, &sampling, &colours) != 0)
    throw FileError(file, std::string("is not a JPEG image: ") + tjGetErrorStr2(decoder.get()));
  auto columns = static_cast<std::size_t>(width), rows = static_cast<std::size_t>(height);
  const std::size_t blocks = (columns + 7) / 8 * ((rows + 7) / 8);  // each takes a bit at least
  check_size(columns, rows, blocks / 8 <= count, file);
  const int orientation = exif_orientation(bytes, count);
  if (size.antialias && size.height > 0) {
    const bool exchanged = exchanges_sides(orientation);
    const tjscalingfactor scale = exchanged ? scale_for(width, height, size) : scale_for(height, width, size);
    height = TJSCALED(height, scale);
    width = TJSCALED(width, scale);
    columns = static_cast<std::size_t>(width);
    rows = static_cast<std::size_t>(height);
  }
  if (channels == 0) channels = colours == TJCS_GRAY ? 1 : 3;
  const bool inks = colours == TJCS_CMYK || colours == TJCS_YCCK;
  std::vector<unsigned char> pixels(columns * rows * static_cast<std::size_t>(inks ? 4 : channels));
  int flags = TJFLAG_ACCURATEDCT;
#ifdef TJFLAG_LIMITSCANS  // each scan of a progressive image goes through all of it
  flags |= TJFLAG_LIMITSCANS;
#endif
  const int status = tjDecompress2(decoder.get(), bytes, length, pixels.data(), width, 0, height,
                                   inks            ? TJPF_CMYK
                                   : channels == 1 ? TJPF_GRAY
                                                   : TJPF_RGB,
                                   flags);
  if (status != 0 && tjGetErrorCode(decoder.get()) == TJERR_FATAL)
    throw FileError(file, std::string("cannot be decoded: ") + tjGetErrorStr2(decoder.get()));
  if (status != 0) note_damaged_image(file, tjGetErrorStr2(decoder.get()));
  if (inks) pixels = light_of(pixels);
  if (inks && channels == 1) pixels = luminance(pixels);
  return oriented(from_interleaved(pixels, channels, height, width), orientation);
}

/// True if deflate can have packed the rows of that PNG file, which begins with a header chunk, into its bytes.
bool holds_rows(const unsigned char* bytes, std::size_t count, const png_image& png) {
  const unsigned char* const header = bytes + 16;  // behind signature, length and name: width, height, depth, colour
  const unsigned depth = header[8], colour = header[9];
  const unsigned values = colour == PNG_COLOR_TYPE_RGB_ALPHA    ? 4
                          : colour == PNG_COLOR_TYPE_RGB        ? 3
                          : colour == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                                : 1;
  const std::size_t row = 1 + std::size_t{png.width} * depth * values / 8;
  return row * png.height / 1032 <= count;
}

Image decode_png(const unsigned char* bytes, std::size_t count, const std::string& file, int channels) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, bytes, count) == 0)
    throw FileError(file, std::string("is not a PNG image: ") + png.message);
  const std::unique_ptr<png_image, void (*)(png_image*)> released(&png, &png_image_free);
  check_size(png.width, png.height, holds_rows(bytes, count, png), file);
  if (channels == 0) channels = (png.format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3 : 1;
  png.format = PNG_FORMAT_RGB;
  std::vector<unsigned char> pixels(PNG_IMAGE_SIZE(png));
  const png_color black{0, 0, 0};  // what shows through transparent pixels
  if (png_image_finish_read(&png, &black, pixels.data(), 0, nullptr) == 0)
    throw FileError(file, std::string("cannot be decoded: ") + png.message);
  const int height = static_cast<int>(png.height), width = static_cast<int>(png.width);
  return channels == 1 ? from_interleaved(luminance(pixels), 1, height, width)
                       : from_interleaved(pixels, 3, height, width);
}

}  // namespace

Image decode_image(const void* bytes, std::size_t count, const std::string& where, int channels,
                   const ImageSize& size) {
  const auto* const begin = static_cast<const unsigned char*>(bytes);
  const bool is_jpeg = count >= 3 && begin[0] == 0xFF && begin[1] == 0xD8;
  if (!is_jpeg && (count < 8 || png_sig_cmp(begin, 0, 8) != 0))
    throw FileError(where, "is neither a JPEG nor a PNG image");
  Image image = is_jpeg ? decode_jpeg(begin, count, where, channels, size) : decode_png(begin, count, where, channels);
  if (!size.changes()) return image;
  sides_of({image.height, image.width}, size, where);
  return resize(image, size);
}

Image decode_labels(const void* bytes, std::size_t count, const std::string& where) {
  const auto* const begin = static_cast<const unsigned char*>(bytes);
  if (count < 8 || png_sig_cmp(begin, 0, 8) != 0)
    throw FileError(where, "is no PNG image", "labels are PNG images: other formats change values");
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, begin, count) == 0)
    throw FileError(where, std::string("is not a PNG image: ") + png.message);
  const std::unique_ptr<png_image, void (*)(png_image*)> released(&png, &png_image_free);
  check_size(png.width, png.height, holds_rows(begin, count, png), where);
  const bool has_palette = (png.format & PNG_FORMAT_FLAG_COLORMAP) != 0;
  if (!has_palette && png.format != PNG_FORMAT_GRAY)
    throw FileError(where, "has colours, or more than 8 bits", "labels are one number a pixel: grey, or by a palette");
  png.format = has_palette ? PNG_FORMAT_RGB_COLORMAP : PNG_FORMAT_GRAY;
  std::vector<unsigned char> pixels(PNG_IMAGE_SIZE(png)), palette(has_palette ? PNG_IMAGE_COLORMAP_SIZE(png) : 0);
  const png_color black{0, 0, 0};
  if (png_image_finish_read(&png, &black, pixels.data(), 0, has_palette ? palette.data() : nullptr) == 0)
    throw FileError(where, std::string("cannot be decoded: ") + png.message);
  return from_interleaved(pixels, 1, static_cast<int>(png.height), static_cast<int>(png.width));
}

std::vector<std::uint8_t> encode_png(const Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const std::size_t plane = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height),
                    channels = static_cast<std::size_t>(image.channels);
  std::vector<std::uint8_t> pixels(plane * channels);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = image.values[i % channels * plane + i / channels];
  png_alloc_size_t bytes = 0;
  const auto write = [&](void* to) {
    return png_image_write_to_memory(&png, to, &bytes, 0, pixels.data(), 0, nullptr);
  };
  std::vector<std::uint8_t> file;
  bool done = write(nullptr) != 0;
  file.resize(bytes);
  done = done && write(file.data()) != 0;
  if (!done) throw FileError("PNG", std::string("an image cannot be encoded: ") + png.message);
  file.resize(bytes);
  return file;
}

}  // namespace cortado
