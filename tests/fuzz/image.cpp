#include "parallel_io/sets/image.h"

#include <turbojpeg.h>

#include <stdexcept>

#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
void run(const std::uint8_t* data, std::size_t size) {
  for (const int channels : {0, 1, 3})
    expect_errors_only([&] {
      const Image image = decode_image(data, size, "image", channels);
      if (image.values.size() < std::size_t{1} << 20) resize(image, {7, 5});
    });
}

Image picture(int channels) {
  Image image{channels, 18, 23, {}};
  for (int i = 0; i < channels * image.height * image.width; ++i)
    image.values.push_back(static_cast<std::uint8_t>(i * i / 7));
  return image;
}

std::string jpeg(const Image& image, int sampling, int flags) {
  const tjhandle encoder = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long bytes = 0;
  const int status = tjCompress2(encoder, image.values.data(), image.width, 0, image.height,
                                 image.channels == 3 ? TJPF_RGB : TJPF_GRAY, &data, &bytes, sampling, 80, flags);
  const std::string file(reinterpret_cast<char*>(data), status == 0 ? bytes : 0);
  tjFree(data);
  tjDestroy(encoder);
  if (status != 0) throw std::runtime_error("a seed cannot be encoded");
  return file;
}

std::vector<std::string> seeds() {
  std::vector<std::string> all = {jpeg(picture(1), TJSAMP_GRAY, 0), jpeg(picture(3), TJSAMP_444, 0),
                                  jpeg(picture(3), TJSAMP_420, TJFLAG_PROGRESSIVE)};
  for (const int channels : {1, 3}) {
    const auto png = encode_png(picture(channels));
    all.emplace_back(png.begin(), png.end());
  }
  return all;
}
}  // namespace

Target image() { return {"image", run, seeds}; }

}  // namespace cortado::fuzz
