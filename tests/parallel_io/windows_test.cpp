// Window files and the samples that Caffe's WindowData makes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/files.h"
#include "core/formats/prototxt.h"
#include "parallel_io/feed/window_maker.h"
#include "parallel_io/sets/image.h"
#include "parallel_io/sets/window_set.h"
#include "tests/parallel_io/sets_rig.h"

namespace cortado::test::windows_test {
namespace {

/// Red, green, blue that tell where a pixel is.
Image picture(int height, int width) {
  Image image{3, height, width, {}};
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        image.values.push_back(static_cast<std::uint8_t>(c == 0 ? 10 * x + 1 : c == 1 ? 20 * y + 1 : x + y + 1));
  return image;
}

class WindowsTest : public ::testing::Test {
 protected:
  WindowsTest() {
    const auto png = encode_png(picture(10, 12));
    folder_.write("a b.png", std::string(png.begin(), png.end()));
    request_.kind = BatchRequest::Kind::windows;
    request_.images.root = folder_.path().string() + "/";
    request_.transform = &transform_;
    transform_.set_crop_size(4);
  }
  static std::string image(const std::string& windows, int count) {
    return "# 0\na b.png\n3\n10\n12\n" + std::to_string(count) + "\n" + windows;
  }
  WindowSet set(const std::string& list) {
    request_.source = folder_.write("list.txt", list);
    return WindowSet(request_);
  }
  std::vector<float> sample(const WindowSet& from, i64 position) {
    const WindowMaker maker(from, request_);
    std::vector<float> to(static_cast<std::size_t>(count_of(maker.sample_shape())), -1);
    std::vector<Values> values;
    from.read(&position, 1, values);
    maker(
        {values[0].bytes.data(), values[0].begin[1], position}, [&] { return from.where(position); },
        [&](const Shape& /*shape*/) { return to.data(); });
    return to;
  }
  /// The only window of a set of one.
  std::vector<float> only(const std::string& corners) { return sample(set(image("1 0.9 " + corners, 1)), 0); }
  /// As if all samples were foreground.
  void all_foreground() { request_.windows.fraction = 1; }

  TemporaryFolder folder_;
  caffe::TransformationParameter transform_;
  BatchRequest request_;
};

/// Value of channel c (blue, green, red) of a crop.
float at(const std::vector<float>& crop, int size, int c, int y, int x) {
  return crop[static_cast<std::size_t>((c * size + y) * size + x)];
}

TEST_F(WindowsTest, AWindowAsLargeAsTheCropIsCutOut) {
  all_foreground();
  transform_.add_mean_value(1), transform_.add_mean_value(2), transform_.add_mean_value(3);
  transform_.set_scale(0.5f);
  const auto crop = only("5 3 8 6");
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x) {
      EXPECT_EQ(at(crop, 4, 0, y, x), 0.5f * static_cast<float>(5 + x + 3 + y));
      EXPECT_EQ(at(crop, 4, 1, y, x), 0.5f * static_cast<float>(20 * (3 + y) - 1));
      EXPECT_EQ(at(crop, 4, 2, y, x), 0.5f * static_cast<float>(10 * (5 + x) - 2));
    }
}

TEST_F(WindowsTest, OthersAreWarped) {
  all_foreground();
  const auto crop = only("2 0 9 7");  // 8 x 8: means of 2 x 2
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x) {
      EXPECT_EQ(at(crop, 4, 2, y, x), static_cast<float>(10 * (2 + 2 * x) + 6));
      EXPECT_EQ(at(crop, 4, 1, y, x), static_cast<float>(20 * 2 * y + 11));
    }
}

/// 4 x 4 at the upper left corner, in the middle 4 x 4 of a crop of 8: grown to -2 .. 6 (rounding gives it 9 pixels),
/// so 2 rows and columns are missing, which are 2 * 8 / 9 of the crop.
TEST_F(WindowsTest, ContextBeyondTheImageIsZero) {
  all_foreground();
  transform_.set_crop_size(8);
  transform_.add_mean_value(100);
  request_.windows.context = 2;
  const auto crop = only("0 0 3 3");
  Image corner{3, 7, 7, {}};
  const Image whole = picture(10, 12);
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 7; ++y)
      for (int x = 0; x < 7; ++x) corner.values.push_back(whole.at(c, y, x));
  const Image expected = resize(corner, {6, 6});
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 8; ++x)
        EXPECT_EQ(at(crop, 8, c, y, x),
                  y < 2 || x < 2 ? 0.0f : static_cast<float>(expected.at(2 - c, y - 2, x - 2)) - 100)
            << c << " " << y << " " << x;
}

TEST_F(WindowsTest, MirrorsTurnTheWindowAndItsPadding) {
  all_foreground();
  transform_.set_crop_size(8);
  request_.windows.context = 2;
  const auto from = set(image("1 0.9 0 0 3 3", 1));
  const auto plain = sample(from, 0);
  transform_.set_mirror(true);
  std::set<bool> seen;
  for (i64 position = 0; position < 20; ++position) {
    const bool turned = from.draw(position).coin;
    seen.insert(turned);
    const auto crop = sample(from, position);
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < 8; ++y)
        for (int x = 0; x < 8; ++x) EXPECT_EQ(at(crop, 8, c, y, x), at(plain, 8, c, y, turned ? 7 - x : x));
  }
  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(WindowsTest, SquaresAreGrownToTheLongerSide) {
  all_foreground();
  request_.windows.square = true;
  const auto wide = only("3 4 6 5");  // 4 x 2 about (5, 5): 3 .. 7 both ways, 5 x 5
  Image part{3, 5, 5, {}};
  const Image whole = picture(10, 12);
  for (int c = 0; c < 3; ++c)
    for (int y = 3; y < 8; ++y)
      for (int x = 3; x < 8; ++x) part.values.push_back(whole.at(c, y, x));
  const Image expected = resize(part, {4, 4});
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 4; ++x) EXPECT_EQ(at(wide, 4, c, y, x), static_cast<float>(expected.at(2 - c, y, x)));
}

TEST_F(WindowsTest, TheMiddleOfTheMeanImageIsSubtracted) {
  all_foreground();
  const auto plain = only("5 3 8 6");
  caffe::BlobProto mean;
  mean.set_num(1), mean.set_channels(3), mean.set_height(6), mean.set_width(8);
  for (int i = 0; i < 3 * 6 * 8; ++i) mean.add_data(static_cast<float>(i));
  write_binary(folder_.file("mean"), mean);
  transform_.set_mean_file(folder_.file("mean"));
  const auto crop = only("5 3 8 6");
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 4; ++x)
        EXPECT_EQ(at(crop, 4, c, y, x), at(plain, 4, c, y, x) - static_cast<float>((c * 6 + y + 1) * 8 + x + 2));
  transform_.set_crop_size(7);
  expect_says(message_of([&] { only("5 3 8 6"); }), "does not hold crops of 3 7 7");
}

constexpr const char* mixed =
    "1 0.9 0 0 3 3\n2 0.5 1 1 4 4\n3 0.4 2 2 5 5\n4 0.29 3 3 6 6\n5 0.1 4 4 7 7\n6 0.3 5 5 8 8\n";

TEST_F(WindowsTest, BatchesHaveBackgroundThenForegroundByOverlap) {
  request_.windows.background = 0.3f;
  request_.windows.batch = 10;  // of which 2.5 are foreground
  const auto from = set(image(mixed, 6));
  std::map<int, int> drawn;  // x1 -> times
  for (i64 position = 0; position < 2000; ++position) {
    const auto window = from.draw(position).window;
    const bool foreground = position % 10 >= 8;
    EXPECT_EQ(window.label, foreground ? window.x1 + 1 : 0);
    EXPECT_TRUE(foreground ? window.x1 < 2 : window.x1 == 3 || window.x1 == 4) << window.x1;
    ++drawn[window.x1];
  }
  ASSERT_EQ(drawn.size(), 4u);
  EXPECT_NEAR(drawn[0], 200, 50);
  EXPECT_NEAR(drawn[3], 800, 100);
}

TEST_F(WindowsTest, RanksTogetherDrawWhatOneDraws) {
  request_.windows.background = 0.3f;
  const auto batch = [&](i64 size, i64 number) {
    request_.windows.batch = size;
    const auto from = set(image(mixed, 6));
    std::multiset<std::pair<int, bool>> drawn;
    for (i64 i = 0; i < 16; ++i) {
      const auto draw = from.draw(number * 16 + i);
      drawn.insert({draw.window.x1, draw.coin});
    }
    return drawn;
  };
  for (i64 number = 0; number < 5; ++number) {
    EXPECT_EQ(batch(8, number), batch(16, number));
    EXPECT_EQ(batch(4, number), batch(16, number));
  }
  const auto first = batch(16, 0);
  EXPECT_NE(first, batch(16, 1));
  request_.seed = 2;
  EXPECT_NE(first, batch(16, 0));
}

TEST_F(WindowsTest, KeptFilesAreReadOnce) {
  all_foreground();
  request_.windows.cache = true;
  const auto from = set(image("1 0.9 5 3 8 6", 1));
  std::filesystem::remove(folder_.file("a b.png"));
  EXPECT_EQ(at(sample(from, 3), 4, 2, 0, 0), 51);
}

TEST_F(WindowsTest, MistakesAreNamed) {
  const auto says = [&](const std::string& list, const std::string& part) {
    expect_says(message_of([&] { set(list); }), part);
  };
  says("", "lists no images");
  says("a b.png\n", "list.txt:1: 'a' stands where");
  says("\xEF\xBB\xBF# 0\na b.png\n4\n", "list.txt:4: ends where the height is due");
  says(std::string("\xFF\xFE#\0", 4), "list.txt: is a text in UTF-16");
  says(std::string("#0\0\1", 4), "list.txt: is no text (it should list windows)");
  says("# 0\na b.png\n3\n10\ntwelve\n", "list.txt:5: 'twelve' stands where the width is due");
  says(image("1 0.9 0 0 3 3\n", 2), "list.txt:8: ends where a class is due");
  says(image("1 0.9 0 0 3 3\n1 0.9 5 0 3 3\n", 2), "list.txt:8: is no window");
  says(image("1 0.9 12 0 13 3\n", 1), "list.txt:7: is no window in an image of 12 x 10 pixels");
  says(image("0 0.9 0 0 3 3\n", 1), "list.txt:7: is a foreground window of class 0");
  says("# 0\na b.png\n4\n10\n12\n0\n", "4 channels");
  says(image("1 0.9 0 0 3 3\n", 1), "has no background windows, and every batch has 1");
  request_.windows.batch = 4;
  says(image("1 0.1 0 0 3 3\n", 1), "has no foreground windows, and every batch has 1");
  request_.source = "absent.txt";
  expect_says(message_of([&] { WindowSet no(request_); }), "absent.txt: cannot be read");
  all_foreground();
  expect_says(message_of([&] { only("10 8 13 11"); }), "window 10 8 13 11: is not inside the image, which has 12 x 10");
}

}  // namespace
}  // namespace cortado::test::windows_test
