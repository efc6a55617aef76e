// Images as libpng and TurboJPEG write them: sizes that no block or row alignment divides, colour and grey.
#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <cmath>
#include <fstream>

#include "core/base/error.h"
#include "parallel_io/sets/image.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::images_test {
namespace {
struct Size {
  int width, height;
};
constexpr Size sizes[] = {{1, 1}, {3, 5}, {17, 9}, {64, 33}};

/// Interleaved pixels of a smooth picture, which JPEG keeps nearly: channel c rises along x, y, or falls.
std::vector<std::uint8_t> picture(Size s, int channels) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < s.height; ++y)
    for (int x = 0; x < s.width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels.push_back(static_cast<std::uint8_t>(c == 0 ? 40 + 3 * x : c == 1 ? 60 + 2 * y : 200 - x - y));
  return pixels;
}

std::string png_file(const TemporaryFolder& folder, Size s, int channels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(s.width);
  image.height = static_cast<png_uint_32>(s.height);
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  const std::string file = (folder.path() / "picture.png").string();
  EXPECT_NE(png_image_write_to_file(&image, file.c_str(), 0, picture(s, channels).data(), 0, nullptr), 0);
  return file;
}

std::string jpeg_file(const TemporaryFolder& folder, Size s, int channels) {
  const tjhandle encoder = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long bytes = 0;
  EXPECT_EQ(
      tjCompress2(encoder, picture(s, channels).data(), s.width, 0, s.height, channels == 3 ? TJPF_RGB : TJPF_GRAY,
                  &data, &bytes, channels == 3 ? TJSAMP_444 : TJSAMP_GRAY, 100, 0),
      0);
  const std::string file = folder.write("picture.jpg", std::string(reinterpret_cast<char*>(data), bytes));
  tjFree(data);
  tjDestroy(encoder);
  return file;
}

/// Every pixel of every channel within `tolerance` of the picture; a grey file gives three equal channels.
void expect_picture(const Image& image, Size s, int channels, int tolerance) {
  ASSERT_EQ(image.width, s.width);
  ASSERT_EQ(image.height, s.height);
  ASSERT_EQ(image.channels, 3);
  const auto expected = picture(s, channels);
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < s.height; ++y)
      for (int x = 0; x < s.width; ++x) {
        const auto at = static_cast<std::size_t>((y * s.width + x) * channels + (channels == 3 ? c : 0));
        ASSERT_NEAR(image.at(c, y, x), expected[at], tolerance) << "channel " << c << ", row " << y << ", column " << x;
      }
}

TEST(Images, PngsComeBackExactly) {
  const TemporaryFolder folder;
  for (const Size s : sizes)
    for (const int channels : {1, 3}) expect_picture(read_image(png_file(folder, s, channels)), s, channels, 0);
}

TEST(Images, JpegsComeBackNearly) {
  const TemporaryFolder folder;
  for (const Size s : sizes)
    for (const int channels : {1, 3}) expect_picture(read_image(jpeg_file(folder, s, channels)), s, channels, 3);
}

TEST(Images, ColourAsGreyIsItsLuminance) {
  const TemporaryFolder folder;
  for (const Size s : sizes)
    for (const auto& file : {png_file(folder, s, 3), jpeg_file(folder, s, 3)}) {
      const Image grey = read_image(file, 1);
      ASSERT_EQ(grey.channels, 1);
      const auto pixels = picture(s, 3);
      for (int i = 0; i < s.width * s.height; ++i) {
        const auto* const p = pixels.data() + 3 * i;
        EXPECT_NEAR(grey.values[static_cast<std::size_t>(i)], 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2], 4) << file;
      }
    }
}

TEST(Images, CutFilesAreNamed) {
  const TemporaryFolder folder;
  for (const auto& file : {png_file(folder, {17, 9}, 3), jpeg_file(folder, {17, 9}, 3)}) {
    std::ifstream in(file, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const std::string cut = folder.write("cut", bytes.substr(0, bytes.size() / 4));
    EXPECT_THROW(read_image(cut), FileError) << file;
  }
}

TEST(Images, InksAreLightAsOpenCvHasIt) {
  const Size s{64, 33};
  std::vector<std::uint8_t> inks;
  for (int y = 0; y < s.height; ++y)
    for (int x = 0; x < s.width; ++x)
      for (const int value : {40 + 3 * x, 60 + 2 * y, 200 - x - y, 255 - 2 * x})
        inks.push_back(static_cast<std::uint8_t>(value));
  const tjhandle encoder = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long bytes = 0;
  ASSERT_EQ(tjCompress2(encoder, inks.data(), s.width, 0, s.height, TJPF_CMYK, &data, &bytes, TJSAMP_444, 100, 0), 0);
  const Image colours = decode_image(data, bytes, "inks", 3);
  for (const int channels : {0, 1, 3}) {
    const Image image = decode_image(data, bytes, "inks", channels);
    ASSERT_EQ(image.channels, channels == 1 ? 1 : 3);
    for (int y = 0; y < s.height; ++y)
      for (int x = 0; x < s.width; ++x) {
        const auto* const p = inks.data() + 4 * (y * s.width + x);
        const auto light = [&](int c) { return p[3] - ((255 - p[c]) * p[3] >> 8); };
        if (channels == 1)
          EXPECT_EQ(
              image.at(0, y, x),
              (4899 * colours.at(0, y, x) + 9617 * colours.at(1, y, x) + 1868 * colours.at(2, y, x) + (1 << 13)) >> 14);
        else
          for (int c = 0; c < 3; ++c) EXPECT_NEAR(image.at(c, y, x), light(c), 3) << c;
      }
  }
  // The same numbers as plain inks: Adobe's marker says so, or is not there.
  std::string file(reinterpret_cast<char*>(data), bytes);
  const std::size_t marker = file.find("Adobe");
  ASSERT_NE(marker, std::string::npos);
  ASSERT_EQ(file[marker + 11], 2);  // YCCK
  file[marker + 11] = 0;
  const Image plain = decode_image(file.data(), file.size(), "inks", 3);
  EXPECT_NE(plain.values, colours.values);
  file.erase(marker - 4, 16);
  EXPECT_EQ(decode_image(file.data(), file.size(), "inks", 3).values, plain.values);
  tjFree(data);
  tjDestroy(encoder);
}

/// A JPEG file with EXIF's orientation, of either byte order, behind its first marker.
std::string turned_jpeg(const std::string& jpeg, int orientation, bool little) {
  const auto number = [little](unsigned value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * (little ? i : bytes - 1 - i) & 255);
    return text;
  };
  const std::string tag = number(0x0112, 2) + number(3, 2) + number(1, 4) +
                          number(static_cast<unsigned>(orientation), 2) + number(0, 2),
                    tiff = (little ? "II" : "MM") + number(42, 2) + number(8, 4) + number(1, 2) + tag + number(0, 4),
                    exif = std::string("Exif\0\0", 6) + tiff;
  const auto length = static_cast<char>(exif.size() + 2);
  return jpeg.substr(0, 2) + "\xFF\xE1" + std::string{'\0', length} + exif + jpeg.substr(2);
}

TEST(Images, PhotographsStandUprightAsOpenCvHasThem) {
  const TemporaryFolder folder;
  const Size s{17, 9};
  std::ifstream in(jpeg_file(folder, s, 3), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const Image stored = decode_image(bytes.data(), bytes.size(), "stored");
  // Where the stored image's first row and column are seen.
  const struct {
    int orientation;
    bool exchanges, last_row, last_column;
  } cases[] = {{1, false, false, false}, {2, false, false, true}, {3, false, true, true}, {4, false, true, false},
               {5, true, false, false},  {6, true, true, false},  {7, true, true, true},  {8, true, false, true},
               {0, false, false, false}, {9, false, false, false}};
  for (const auto& c : cases)
    for (const bool little : {false, true}) {
      const std::string file = turned_jpeg(bytes, c.orientation, little);
      const Image seen = decode_image(file.data(), file.size(), "seen");
      ASSERT_EQ(seen.height, c.exchanges ? s.width : s.height) << c.orientation;
      ASSERT_EQ(seen.width, c.exchanges ? s.height : s.width) << c.orientation;
      for (int channel = 0; channel < 3; ++channel)
        for (int row = 0; row < s.height; ++row)
          for (int column = 0; column < s.width; ++column) {
            const int down = c.last_row ? s.height - 1 - row : row,
                      right = c.last_column ? s.width - 1 - column : column;
            ASSERT_EQ(c.exchanges ? seen.at(channel, right, down) : seen.at(channel, down, right),
                      stored.at(channel, row, column))
                << "orientation " << c.orientation << ", row " << row << ", column " << column;
          }
      // A scaled decoding has the sides that are asked for.
      const Image small = decode_image(file.data(), file.size(), "small", 3, {5, 3, true});
      EXPECT_EQ(small.height, 5);
      EXPECT_EQ(small.width, 3);
    }
}

TEST(Images, WhatEndsEarlyIsToldAndCounted) {
  const TemporaryFolder folder;
  std::ifstream in(jpeg_file(folder, {64, 33}, 3), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string half = folder.write("half.jpg", bytes.substr(0, bytes.size() * 3 / 4));
  testing::internal::CaptureStderr();
  for (int again = 0; again < 3; ++again) read_image(half);
  report_damaged_images({damaged_images(), damaged_images(), "another\n", ""});
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("half.jpg: is damaged: Premature end"), std::string::npos) << log;
  EXPECT_EQ(log.find("is damaged", log.find("is damaged") + 1), std::string::npos) << log;
  EXPECT_NE(log.find("2 images are damaged"), std::string::npos) << log;
}

/// What `bytes` are refused for, after `size` was written at `at`.
std::string claim(std::string bytes, std::size_t at, const std::string& size) {
  bytes.replace(at, size.size(), size);
  try {
    decode_image(bytes.data(), bytes.size(), "image");
  } catch (const FileError& error) { return error.what(); }
  return "";
}

TEST(Images, SizesThatTheFileCannotHoldAreRefused) {
  const TemporaryFolder folder;
  const auto bytes_of = [](const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  const std::string jpeg = bytes_of(jpeg_file(folder, {17, 9}, 3));
  const std::size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  EXPECT_NE(claim(jpeg, frame + 5, "\xff\xdc\xff\xdc").find("65500 x 65500 pixels that it claims"), std::string::npos);

  std::string png = bytes_of(png_file(folder, {17, 9}, 3));
  png[24] = 1;  // black and white, the smallest there is, with the check sum that belongs to it
  png[25] = 0;
  const auto png_claims = [&](std::uint32_t side) {
    std::string header = "IHDR";
    for (int twice = 0; twice < 2; ++twice)
      for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(side >> shift);
    header += png.substr(24, 5);
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(header.data()), static_cast<uInt>(header.size()));
    for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(sum >> shift);
    return header;
  };
  EXPECT_NE(claim(png, 12, png_claims(999999)).find("999999 x 999999 pixels that it claims"), std::string::npos);
  EXPECT_NE(claim(png + std::string(1 << 17, 'x'), 12, png_claims(20000)).find("more than 134217728"),
            std::string::npos);
}
}  // namespace
}  // namespace cortado::test::images_test
