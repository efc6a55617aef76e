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

TEST(Resize, ShorterSideAndMiddleAreTorchvisionsToTheBit) {
  // Check sums of Image.resize(..., Image.BILINEAR) and Image.crop of Pillow 13, to the sides and at the place of
  // torchvision's Resize(shorter) and CenterCrop((crop_height, crop_width)).
  const struct {
    int from_height, from_width, shorter, height, width, crop_height, crop_width;
    std::uint32_t resized, cropped;
  } cases[] = {
      {17, 23, 8, 8, 10, 7, 6, 0xe4938c58u, 0xaae3ea20u},     {64, 48, 24, 32, 24, 21, 17, 0xce38b504u, 0x8809594bu},
      {37, 53, 37, 37, 53, 32, 30, 0x73f85b21u, 0xfbe745f0u}, {132, 174, 51, 51, 67, 51, 51, 0xcd1c7c61u, 0x2623126fu},
      {23, 17, 40, 54, 40, 33, 38, 0x42a59575u, 0x70a19e73u}, {174, 132, 77, 101, 77, 60, 70, 0xf3fcfcfcu, 0xfad90a50u},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::to_string(c.from_width) + "x" + std::to_string(c.from_height));
    const Image image = pattern(c.from_height, c.from_width);
    ImageSize size;
    size.antialias = true;
    size.shorter = c.shorter;
    const Image whole = resize(image, size);
    EXPECT_EQ(whole.height, c.height);
    EXPECT_EQ(whole.width, c.width);
    EXPECT_EQ(checksum(whole), c.resized);
    size.crop_height = c.crop_height;
    size.crop_width = c.crop_width;
    const ImageSides sides = sides_of({c.from_height, c.from_width}, size, "x");
    EXPECT_EQ(sides.height, c.crop_height);
    EXPECT_EQ(sides.width, c.crop_width);
    EXPECT_EQ(checksum(resize(image, size)), c.cropped);
  }
}

TEST(Resize, JpegsAreTorchvisionsToTheBit) {
  // 45 x 30 pixels, written by Pillow with colours at half the size, and check sums of what Pillow 13 makes of it.
  const std::string hex =
      "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d"
      "3c3933383740485c4e404457453738506d51575f626768673e4d71797064785c656763ffdb0043011112121815182f1a1a2f63423842"
      "6363636363636363636363636363636363636363636363636363636363636363636363636363636363636363636363636363ffc00011"
      "08001e002d03012200021101031101ffc4001800010101010100000000000000000000000405030006ffc40025100001030401020700"
      "000000000000000001000203041112214105610613317191b1d1ffc4001801010003010000000000000000000000000503040602ffc4"
      "001f11000202020203010000000000000000000102000311121321042231b1ffda000c03010002110311003f009d4ba0129db086c38a"
      "4c6ec93f79ef3117f246baccdd1dca453476216d1c397092c871e1117dbd6210f51db68aa6d009250d8ec513a9f5a6f4e7c7188bcd7b"
      "8644658d871c7bfc212c4676c2cec5c6c3c6bd9919e2c56f4c2e42e31825229e300ad6defd486c279252a58ee024ba3b05953e80493b"
      "0b3b7b1ccbaee38e4eaca865240f9e5be0c1736172bc5be692a6692690ddef75cf6ecac789ea5d2d50a41a8e2b39daf5711f87ed4b8a"
      "318a9a95089b1fa657f12929ee7e9fc9ffd9";
  std::string file;
  for (std::size_t i = 0; i < hex.size(); i += 2) file += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  EXPECT_EQ(checksum(decode_image(file.data(), file.size(), "picture", 3)), 0x3f9871cau);
  const struct {
    int shorter, crop;
    std::uint32_t resized, cropped;
  } cases[] = {
      {20, 16, 0x92820fd7u, 0x25fd07eau}, {12, 12, 0x4eeec06au, 0x30b170a7u}, {9, 7, 0xe0d704bdu, 0xa0d2101fu}};
  for (const auto& c : cases) {
    ImageSize size;
    size.antialias = true;
    size.shorter = c.shorter;
    EXPECT_EQ(checksum(decode_image(file.data(), file.size(), "picture", 3, size)), c.resized);
    size.crop_height = size.crop_width = c.crop;
    EXPECT_EQ(checksum(decode_image(file.data(), file.size(), "picture", 3, size)), c.cropped);
  }
}

TEST(Resize, WhatCannotBeCutOutIsTold) {
  ImageSize size;
  size.crop_height = 4;
  size.crop_width = 5;
  EXPECT_NO_THROW(sides_of({4, 5}, size, "picture"));
  EXPECT_THROW(sides_of({4, 4}, size, "picture"), ConfigError);
  EXPECT_THROW(sides_of({3, 5}, size, "picture"), ConfigError);
  size.shorter = 5;
  EXPECT_NO_THROW(sides_of({3, 3}, size, "picture"));
  EXPECT_THROW(sides_of({1, 1 << 26}, size, "picture"), ConfigError);
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
