#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/memory_error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "layers/all_layers.h"
#include "layers/data/feeder.h"
#include "parallel_io/convert/convert.h"
#include "parallel_io/feed/sinks.h"
#include "parallel_io/feed/sources.h"
#include "parallel_io/sets/hdf5.h"
#include "parallel_io/sets/image.h"
#include "tests/layers/data_layers_fixture.h"
#include "tests/support/backends.h"

// Layers that read and write data within a net, on every backend.
namespace cortado::test::data_layers_test {
namespace {

TEST_P(DataLayersTest, Hdf5DataGoesRoundAndAnyPassCanComeFirst) {
  list(5);
  auto of = net(hdf5_data(3));
  EXPECT_EQ(samples(*of, 1), (std::vector<float>{3, 4, 0}));
  EXPECT_EQ(samples(*of, 0), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(of->blob("data")->shape(), (Shape{3, 1}));
}

TEST_P(DataLayersTest, RanksTogetherReadWhatOneRankReads) {
  list(7);
  for (const char* shuffle : {"", "shuffle: true"}) {
    auto one = net(hdf5_data(6, shuffle)), part = net(hdf5_data(2, shuffle));
    for (i64 pass = 0; pass < 4; ++pass) {
      std::vector<float> together;
      for (int rank = 0; rank < 3; ++rank)
        for (const float v : samples(*part, pass, rank, 3)) together.push_back(v);
      EXPECT_EQ(together, samples(*one, pass));
    }
  }
}

TEST_P(DataLayersTest, ShufflingVisitsEverySampleOnceAnEpochInChangingOrder) {
  list(64);
  auto of = net(hdf5_data(64, "shuffle: true"));
  auto first = samples(*of, 0), second = samples(*of, 1);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[63], 63);
}

/// Samples 0 to count - 1 as images that hold their number, in every format.
class ImageFormats {
 public:
  ImageFormats(const TemporaryFolder& folder, i64 count) {
    const std::string h5 = folder.file("images.h5");
    std::vector<float> values, labels;
    for (i64 i = 0; i < count; ++i) {
      for (i64 e = 0; e < 60; ++e) values.push_back(static_cast<float>((7 * i + e * e) % 256));
      labels.push_back(static_cast<float>(i));
    }
    write_hdf5(h5, {{"data", {count, 3, 4, 5}, H5T_STD_U8LE, values}, {"label", {count}, H5T_IEEE_F32LE, labels}});
    paths = {h5, folder.file("striped.h5"), folder.file("lmdb"), folder.file("list.txt")};
    const Format formats[] = {Format::hdf5, Format::striped, Format::lmdb, Format::images};
    for (std::size_t i = 1; i < paths.size(); ++i) {
      SetOptions options;
      options.write.format = formats[i];
      options.write.stripe_bytes = 300;
      convert_set(h5, paths[i], options, {});
    }
  }
  std::vector<std::string> paths;  // the last is a list of images
};

TEST_P(DataLayersTest, DataWithoutLabelsNeedsNone) {
  write_hdf5(folder_.file("bare.h5"), {{"data", {4, 1, 2, 2}, H5T_IEEE_F32LE, std::vector<float>(16, 3)}});
  const auto made = net("layer { name: 'd' type: 'Data' top: 'data' data_param { source: '" + folder_.file("bare.h5") +
                        "' batch_size: 2 } }");
  made->forward();
  EXPECT_EQ(made->blob("data")->data_vector(), std::vector<float>(8, 3));
}

TEST_P(DataLayersTest, DataAndImageDataGiveTheSameFromEveryFormat) {
  const ImageFormats formats(folder_, 11);
  const std::string rest =
      "batch_size: 4 } transform_param { crop_size: 3 mirror: true scale: 0.25 mean_value: 100 } }";
  std::vector<std::unique_ptr<Net>> nets;
  for (const auto& path : formats.paths)
    nets.push_back(net("name: 'n' layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { source: '" +
                       path + "' " + rest));
  nets.push_back(
      net("name: 'n' layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' image_data_param { source: '" +
          formats.paths.back() + "' " + rest));
  EXPECT_EQ(nets[0]->blob("data")->shape(), (Shape{4, 3, 3, 3}));
  for (const i64 pass : {0, 1, 2, 7, 1}) {
    const auto expected = samples(*nets[0], pass);
    EXPECT_EQ(nets[0]->blob("label")->data_vector()[1], static_cast<float>((4 * pass + 1) % 11));
    for (auto& other : nets) {
      EXPECT_EQ(samples(*other, pass), expected);
      EXPECT_EQ(other->blob("label")->data_vector(), nets[0]->blob("label")->data_vector());
    }
  }
}

TEST_P(DataLayersTest, BlocksOfAStripedSetAreShuffledAndComeOnceAnEpoch) {
  const ImageFormats formats(folder_, 20);
  const std::string layer = "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { source: '" +
                            formats.paths[1] + "' batch_size: 20 shuffle: true verify: true ";
  const std::string plain = "layer { name: 'd' type: 'HDF5Data' top: 'data' top: 'label' hdf5_data_param { source: '" +
                            formats.paths[1] + "' batch_size: 20 shuffle: true verify: true shuffle_block: 5 } }";
  auto blocks = net(layer + "shuffle_block: 5 } }"), all = net(layer + "} }"), of_hdf5 = net(plain);
  for (Net* const of : {blocks.get(), all.get(), of_hdf5.get()}) {
    samples(*of, 0);
    auto first = of->blob("label")->data_vector();
    samples(*of, 1);
    auto second = of->blob("label")->data_vector();
    EXPECT_NE(first, second);
    std::sort(second.begin(), second.end());
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(second[i], static_cast<float>(i));
    if (of != all.get()) {
      for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(std::floor(first[i] / 5), std::floor(first[i / 5 * 5] / 5));
    }
  }
}

/// The feeder of machines with memory of their own, on this one: values arrive, whatever is asked for.
TEST_P(DataLayersTest, PreloadingGivesTheSameBatches) {
  const ImageFormats formats(folder_, 11);
  BatchRequest request;
  request.source = formats.paths[0];
  request.batch = 4;
  CoreGroup& group = group_of(GetParam());
  const auto source = sources_.open(request, group), other = sources_.open(request, group);
  Preload preload(group, *source);
  ZeroCopyFeeder hand_over(group, *other);
  Blob a(group, {4, 3, 4, 5}), a_label(group, {4}), b(group, {4, 3, 4, 5}), b_label(group, {4});
  for (const i64 first : {0, 4, 8, 12, 100, 104, 0, 4, 4, 3}) {
    preload.feed(first, 4, {&a, &a_label});
    hand_over.feed(first, 4, {&b, &b_label});
    EXPECT_EQ(a.data_vector(), b.data_vector()) << first;
    EXPECT_EQ(a_label.data_vector(), b_label.data_vector()) << first;
  }
}

TEST_P(DataLayersTest, DummyDataDrawsAnewPerPassAndRankAndFillsConstantsOnce) {
  auto of =
      net("layer { name: 'd' type: 'DummyData' top: 'data' top: 'c' dummy_data_param { num: 2 channels: 3 height: 1 "
          "width: 1 "
          "data_filler { type: 'uniform' min: -1 max: 1 } data_filler { type: 'constant' value: 4 } } }");
  const auto first = samples(*of, 0), second = samples(*of, 1), other = samples(*of, 0, 1, 2);
  EXPECT_EQ(first.size(), 6u);
  EXPECT_NE(first, second);
  EXPECT_NE(first, other);
  EXPECT_EQ(samples(*of, 0), first);
  EXPECT_EQ(of->blob("c")->data_vector(), std::vector<float>(6, 4.0f));
}

TEST_P(DataLayersTest, InputTakesOneShapeForAllOrOneEach) {
  auto of = net("layer { name: 'i' type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 dim: 3 } } }");
  EXPECT_EQ(of->blob("b")->shape(), (Shape{2, 3}));
  EXPECT_EQ(of->inputs().size(), 2u);
  EXPECT_THROW(net("layer { name: 'i' type: 'Input' top: 'a' top: 'b' top: 'c' input_param { shape { dim: 2 } shape { "
                   "dim: 3 } } }"),
               ConfigError);
}

TEST_P(DataLayersTest, MemoryDataIsFilledByTheCaller) {
  auto of =
      net("layer { name: 'm' type: 'MemoryData' top: 'data' top: 'label' memory_data_param { batch_size: 2 "
          "channels: 3 height: 4 width: 5 } } layer { name: 'f' type: 'Flatten' bottom: 'data' top: 'flat' }");
  EXPECT_EQ(of->blob("data")->shape(), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(of->blob("label")->shape(), (Shape{2}));
  ASSERT_EQ(of->inputs().size(), 2u);
  std::vector<float> values(120);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  of->inputs()[0]->write_data(values.data());
  of->forward();
  EXPECT_EQ(of->blob("flat")->data_vector(), values);
  for (const char* missing : {"channels: 1 height: 1 width: 1", "batch_size: 1 height: 1 width: 1",
                              "batch_size: 1 channels: 1 width: 1", "batch_size: 1 channels: 1 height: 1"})
    EXPECT_THROW(net(std::string("layer { name: 'm' type: 'MemoryData' top: 'd' top: 'l' memory_data_param { ") +
                     missing + " } }"),
                 ConfigError)
        << missing;
}

TEST_P(DataLayersTest, WindowDataGivesBackgroundThenForegroundAlikeForAnyRanks) {
  Image image{3, 8, 8, {}};
  for (int i = 0; i < 3 * 64; ++i) image.values.push_back(static_cast<std::uint8_t>(i));
  const auto png = encode_png(image);
  folder_.write("a.png", std::string(png.begin(), png.end()));
  std::string windows;
  for (int x = 0; x < 6; ++x)
    windows += std::to_string(x + 1) + (x < 3 ? " 0.7 " : " 0.2 ") + std::to_string(x) + " 0 " + std::to_string(x + 2) +
               " 2\n";
  const std::string list = folder_.write("windows.txt", "# 0\na.png\n3\n8\n8\n6\n" + windows);
  const auto text = [&](i64 batch, const std::string& more = "") {
    return "layer { name: 'w' type: 'WindowData' top: 'data' top: 'label' transform_param { crop_size: 3 mirror: true "
           "mean_value: 1 } window_data_param { source: '" +
           list + "' root_folder: '" + folder_.path().string() +
           "/' fg_fraction: 0.5 batch_size: " + std::to_string(batch) + " " + more + " } }";
  };
  const auto one = net(text(8)), part = net(text(2, "cache_images: true"));
  EXPECT_EQ(one->blob("data")->shape(), (Shape{8, 3, 3, 3}));
  EXPECT_EQ(one->blob("label")->shape(), (Shape{8}));
  using Sample = std::pair<float, std::vector<float>>;
  const auto add = [](const Net& from, std::vector<Sample>& to) {
    const auto data = from.blob("data")->data_vector(), label = from.blob("label")->data_vector();
    for (std::size_t i = 0; i < label.size(); ++i) {
      EXPECT_EQ(label[i] > 0, i >= label.size() / 2);
      const auto begin = data.begin() + static_cast<std::ptrdiff_t>(27 * i);
      to.emplace_back(label[i], std::vector<float>(begin, begin + 27));
      // Red is what channel 2 holds: 0 .. 7 in row 0, its column the window's class less one, or mirrored.
      const float left = std::min(data[27 * i + 18], data[27 * i + 20]) + 1;
      EXPECT_EQ(left, label[i] > 0 ? label[i] - 1 : std::clamp(left, 3.0f, 5.0f));
    }
  };
  for (const i64 pass : {0, 3, 1}) {
    std::vector<Sample> whole, parts;
    samples(*one, pass);
    add(*one, whole);
    for (int rank = 0; rank < 4; ++rank) {
      samples(*part, pass, rank, 4);
      add(*part, parts);
    }
    std::sort(whole.begin(), whole.end());
    std::sort(parts.begin(), parts.end());
    EXPECT_EQ(whole, parts);
  }
  for (const char* mistake : {"crop_mode: 'round'", "crop_size: 3", "context_pad: 2", "fg_fraction: 1.5",
                              "fg_threshold: 0.8", "bg_threshold: 0.1"})
    EXPECT_THROW(net(text(4, mistake)), ConfigError) << mistake;
  EXPECT_THROW(net("layer { name: 'w' type: 'WindowData' top: 'data' top: 'label' window_data_param { source: '" +
                   list + "' batch_size: 1 } }"),
               ConfigError);
}

TEST_P(DataLayersTest, MistakesAreNamed) {
  EXPECT_THROW(net("layer { name: 'd' type: 'HDF5Data' top: 'data' hdf5_data_param { batch_size: 2 } }"), ConfigError);
  EXPECT_THROW(net(hdf5_data(2)), FileError);
  list(3);
  EXPECT_THROW(net(hdf5_data(0)), ConfigError);
  EXPECT_THROW(net(hdf5_data(2, "shuffle_block: 3")), ConfigError);
  EXPECT_THROW(net(hdf5_data(2, "verify: true")), FileError);
  for (const char* mistake : {"batch_size: 0", "batch_size: 2 prefetch: 0", "batch_size: 2 prefetch: 2147483647",
                              "batch_size: 2 prefetch: 4294967295", "batch_size: 2 backend: LEVELDB",
                              "batch_size: 2 shuffle_block: 3", "batch_size: 2 scale: 2"})
    EXPECT_THROW(net("layer { name: 'd' type: 'Data' top: 'data' data_param { source: '" + folder_.file("a.h5") + "' " +
                     mistake + " } }"),
                 ConfigError)
        << mistake;
  EXPECT_THROW(net("layer { name: 'd' type: 'ImageData' top: 'data' image_data_param { source: 'a' new_height: 3 } }"),
               ConfigError);
  EXPECT_THROW(net("layer { name: 'd' type: 'ImageData' top: 'data' image_data_param { source: 'a' new_height: "
                   "4294967295 new_width: 3 } }"),
               ConfigError);
  const std::string large = folder_.file("large.h5");  // of which no machine holds so many
  write_hdf5(large, {{"data", {1, 64, 64}, H5T_IEEE_F32LE, std::vector<float>(64 * 64)}});
  EXPECT_THROW(
      net("layer { name: 'd' type: 'Data' top: 'data' data_param { source: '" + large + "' batch_size: 4294967295 } }"),
      MemoryError);
  EXPECT_THROW(net("layer { name: 'd' type: 'DummyData' top: 'a' top: 'b' top: 'c' dummy_data_param { shape { dim: 1 } "
                   "shape { dim: 2 } } }"),
               ConfigError);
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(Backends, DataLayersTest, ::testing::ValuesIn(backend_names()), name_of);

}  // namespace
}  // namespace cortado::test::data_layers_test
