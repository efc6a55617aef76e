// Resizing as OpenCV and as Pillow do it, and JPEGs decoded at smaller scales on the way.
#include <gtest/gtest.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <cmath>

#include "core/base/error.h"
#include "parallel_io/sets/image.h"

namespace cortado::test::resize_test {
namespace {

Image pattern(int height, int width) {
  Image image{1, height, width, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      image.values.push_back(static_cast<std::uint8_t>((x * x * 7 + y * y * 13 + x * y * 5 + x * 31 + y * 17) % 251));
  return image;
}

std::uint32_t checksum(const Image& image) {
  return static_cast<std::uint32_t>(crc32(0, image.values.data(), static_cast<uInt>(image.values.size())));
}

TEST(Resize, IsOpenCvsAndPillowsToTheBit) {
  // Check sums of cv2.resize(image, (width, height)) of OpenCV 4.14 and of
  // Image.resize((width, height), Image.BILINEAR) of Pillow 13, of the pattern above.
  const struct {
    int from_height, from_width, height, width;
    std::uint32_t opencv, pillow;
  } cases[] = {
      {17, 23, 7, 5, 0xed0462a5u, 0x54c3399au},     {17, 23, 34, 46, 0x1870de93u, 0xbc53172du},
      {64, 48, 32, 24, 0x0975f7cfu, 0xce38b504u},   {37, 53, 36, 52, 0x85ecb1f9u, 0x5767014au},
      {8, 8, 16, 3, 0x58f3236eu, 0x6ea2d55eu},      {5, 1, 3, 4, 0xf8653710u, 0xa2b26502u},
      {132, 174, 51, 80, 0xa009f206u, 0x837b3465u},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::to_string(c.from_width) + "x" + std::to_string(c.from_height) + " to " + std::to_string(c.width) +
                 "x" + std::to_string(c.height));
    const Image image = pattern(c.from_height, c.from_width);
    EXPECT_EQ(checksum(resize(image, {c.height, c.width})), c.opencv);
    EXPECT_EQ(checksum(resize(image, {c.height, c.width, true})), c.pillow);
  }
}

TEST(Resize, ChannelsAreResizedAlike) {
  const Image grey = pattern(19, 31);
  Image colour{3, 19, 31, {}};
  for (int c = 0; c < 3; ++c)
    for (const auto value : grey.values) colour.values.push_back(static_cast<std::uint8_t>(value / (c + 1)));
  for (const bool antialias : {false, true}) {
    const Image all = resize(colour, {11, 9, antialias});
    for (int c = 0; c < 3; ++c) {
      Image one{1, 19, 31, {colour.values.begin() + c * 19 * 31, colour.values.begin() + (c + 1) * 19 * 31}};
      one = resize(one, {11, 9, antialias});
      EXPECT_TRUE(std::equal(one.values.begin(), one.values.end(), all.values.begin() + c * 11 * 9));
    }
  }
}

TEST(Resize, AbsurdSizesAreRefused) {
  EXPECT_NO_THROW(check_size({256, 256}, "x"));
  EXPECT_THROW(check_size({65500, 65500}, "x"), ConfigError);
}

/// A JPEG file of a smooth picture in colour, or of stripes one pixel wide.
std::string jpeg(int height, int width, bool stripes) {
  std::vector<unsigned char> pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        pixels.push_back(static_cast<unsigned char>(
            stripes ? x % 2 * 255 : 128 + 100 * std::sin((c + 1) * 3.0 * x / width) * std::cos(2.0 * y / height)));
  const tjhandle encoder = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long bytes = 0;
  EXPECT_EQ(tjCompress2(encoder, pixels.data(), width, 0, height, TJPF_RGB, &data, &bytes, TJSAMP_420, 95, 0), 0);
  std::string file(reinterpret_cast<char*>(data), bytes);
  tjFree(data);
  tjDestroy(encoder);
  return file;
}

Image decoded(const std::string& file, const ImageSize& size) {
  return decode_image(file.data(), file.size(), "picture", 3, size);
}

TEST(Resize, JpegsAreDecodedAtTheScaleThatSuffices) {
  constexpr int height = 120, width = 163;
  const std::string file = jpeg(height, width, false);
  const Image whole = decoded(file, {});
  for (int eighths = 1; eighths <= 9; ++eighths)
    for (const int more : {-1, 0, 1})
      for (const bool antialias : {false, true}) {
        // On each side of what a scale gives; wider than high, and higher than wide, by one scale.
        const ImageSize wide{(height * eighths + 7) / 8 + more, (width * (eighths + 1) + 7) / 8, antialias},
            high{(height * (eighths + 1) + 7) / 8, (width * eighths + 7) / 8 + more, antialias};
        for (const ImageSize& size : {wide, high}) {
          SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
          const Image image = decoded(file, size), expected = resize(whole, size);
          ASSERT_EQ(image.height, size.height);
          ASSERT_EQ(image.width, size.width);
          int worst = 0;
          for (std::size_t i = 0; i < image.values.size(); ++i)
            worst = std::max(worst, std::abs(int{image.values[i]} - int{expected.values[i]}));
          EXPECT_LE(worst, antialias ? 12 : 0);
        }
      }
}

TEST(Resize, StripesBecomeGreyWithAntialias) {
  const std::string file = jpeg(64, 512, true);
  const auto spread = [&](bool antialias) {
    const Image image = decoded(file, {16, 100, antialias});
    const auto [low, high] = std::minmax_element(image.values.begin(), image.values.end());
    return *high - *low;
  };
  EXPECT_LT(spread(true), 12);
  EXPECT_GT(spread(false), 100);
}

}  // namespace
}  // namespace cortado::test::resize_test
