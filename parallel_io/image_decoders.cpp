#include <png.h>
#include <turbojpeg.h>

#include <fstream>
#include <iterator>
#include <memory>

#include "core/base/error.h"
#include "parallel_io/image.h"

namespace cortado {
namespace {

std::vector<unsigned char> read_bytes(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw FileError(file, "cannot be read");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
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

Image decode_jpeg(const std::string& file, const std::vector<unsigned char>& bytes, bool grey) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), &tjDestroy);
  int width = 0, height = 0, sampling = 0, colours = 0;
  const auto size = static_cast<unsigned long>(bytes.size());
  if (tjDecompressHeader3(decoder.get(), bytes.data(), size, &width, &height, &sampling, &colours) != 0)
    throw FileError(file, std::string("is not a JPEG image: ") + tjGetErrorStr2(decoder.get()));
  const int channels = grey ? 1 : 3;
  std::vector<unsigned char> pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
                                    static_cast<std::size_t>(channels));
  const int status = tjDecompress2(decoder.get(), bytes.data(), size, pixels.data(), width, 0, height,
                                   grey ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT);
  if (status != 0 && tjGetErrorCode(decoder.get()) == TJERR_FATAL)
    throw FileError(file, std::string("cannot be decoded: ") + tjGetErrorStr2(decoder.get()));
  return from_interleaved(pixels, channels, height, width);
}

/// The grey that JPEG stores (ITU-R BT.601); libpng's own conversion weighs colours in another way.
std::vector<unsigned char> luminance(const std::vector<unsigned char>& rgb) {
  std::vector<unsigned char> grey(rgb.size() / 3);
  for (std::size_t i = 0; i < grey.size(); ++i) {
    const unsigned char* const p = rgb.data() + 3 * i;
    grey[i] = static_cast<unsigned char>(0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2] + 0.5);
  }
  return grey;
}

Image decode_png(const std::string& file, const std::vector<unsigned char>& bytes, bool grey) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0)
    throw FileError(file, std::string("is not a PNG image: ") + png.message);
  png.format = PNG_FORMAT_RGB;
  std::vector<unsigned char> pixels(PNG_IMAGE_SIZE(png));
  const png_color black{0, 0, 0};  // what shows through transparent pixels
  if (png_image_finish_read(&png, &black, pixels.data(), 0, nullptr) == 0)
    throw FileError(file, std::string("cannot be decoded: ") + png.message);
  const int height = static_cast<int>(png.height), width = static_cast<int>(png.width);
  return grey ? from_interleaved(luminance(pixels), 1, height, width) : from_interleaved(pixels, 3, height, width);
}

}  // namespace

Image read_image(const std::string& file, bool grey) {
  const auto bytes = read_bytes(file);
  if (bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8) return decode_jpeg(file, bytes, grey);
  if (bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0) return decode_png(file, bytes, grey);
  throw FileError(file, "is neither a JPEG nor a PNG image");
}

}  // namespace cortado
