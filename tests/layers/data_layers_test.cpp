#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "layers/all_layers.h"
#include "parallel_io/hdf5.h"
#include "parallel_io/sources.h"
#include "tests/support/backends.h"
#include "tests/support/temporary_folder.h"

// HDF5Data, DummyData and Input within a net, on every backend.
namespace cortado::test {
namespace {

class DataLayersTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Net> net(const std::string& text, std::uint64_t seed = 1) {
    caffe::NetParameter parameter;
    parse_text(text, "test", parameter);
    NetOptions options;
    options.group = &group_of(GetParam());
    options.layers = &table_;
    options.sources = &sources_;
    options.seed = seed;
    return std::make_unique<Net>(parameter, options);
  }
  /// The first value of each sample of blob "data" in that pass of that rank.
  std::vector<float> samples(Net& of, i64 pass, int rank = 0, int ranks = 1) {
    of.run().pass = pass;
    of.run().rank = rank;
    of.run().ranks = ranks;
    of.forward();
    return of.blob("data")->data_vector();
  }
  std::string list(i64 count) {
    hdf5::Writer writer(folder_.file("a.h5"));
    const auto set = writer.add("data", count, {1}, hdf5::Writer::Type::float32);
    std::vector<float> values;
    for (i64 i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
    writer.write(set, 0, count, values.data());
    writer.finish();
    return folder_.write("list.txt", "a.h5\n");
  }
  std::string hdf5_data(i64 batch, const std::string& more = "") {
    return "layer { name: 'd' type: 'HDF5Data' top: 'data' hdf5_data_param { source: '" + folder_.file("list.txt") +
           "' batch_size: " + std::to_string(batch) + " " + more + " } }";
  }

  LayerTable table_ = all_layers();
  Sources sources_;
  TemporaryFolder folder_;
};

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

TEST_P(DataLayersTest, MistakesAreNamed) {
  EXPECT_THROW(net("layer { name: 'd' type: 'HDF5Data' top: 'data' hdf5_data_param { batch_size: 2 } }"), ConfigError);
  EXPECT_THROW(net(hdf5_data(2)), FileError);
  list(3);
  EXPECT_THROW(net(hdf5_data(0)), ConfigError);
  EXPECT_THROW(net("layer { name: 'd' type: 'DummyData' top: 'a' top: 'b' top: 'c' dummy_data_param { shape { dim: 1 } "
                   "shape { dim: 2 } } }"),
               ConfigError);
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(Backends, DataLayersTest, ::testing::ValuesIn(backend_names()), name_of);

}  // namespace
}  // namespace cortado::test
