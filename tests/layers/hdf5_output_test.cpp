#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/error.h"
#include "parallel_io/sets/hdf5.h"
#include "tests/layers/data_layers_fixture.h"

namespace cortado::test::hdf5_output_test {
namespace {

/// The values of one of the arrays of a file.
std::vector<float> values_in(const std::string& file, const std::string& name, const Shape& sample) {
  const hdf5::Array array(hdf5::File(file), name);
  EXPECT_EQ(array.sample_shape(), sample) << name;
  std::vector<float> values(static_cast<std::size_t>(array.samples() * count_of(sample)));
  if (!values.empty()) array.read(0, array.samples(), values.data());
  return values;
}

class Hdf5OutputTest : public DataLayersTest {
 protected:
  Hdf5OutputTest() {
    std::vector<float> values, labels;
    for (i64 i = 0; i < 10; ++i) {
      for (i64 e = 0; e < 6; ++e) values.push_back(static_cast<float>(10 * i + e));
      labels.push_back(static_cast<float>(i));
    }
    write_hdf5(folder_.file("in.h5"),
               {{"data", {10, 2, 3}, H5T_IEEE_F32LE, values}, {"label", {10}, H5T_IEEE_F32LE, labels}});
  }
  std::string text(const std::string& more = "", const std::string& bottom = "data") const {
    return "layer { name: 'd' type: 'HDF5Data' top: 'data' top: 'label' hdf5_data_param { source: '" +
           folder_.file("in.h5") + "' batch_size: 4 } } " + more + " layer { name: 'o' type: 'HDF5Output' bottom: '" +
           bottom + "' bottom: 'label' hdf5_output_param { file_name: '" + folder_.file("out.h5") + "' } }";
  }
  static void run(Net& of, i64 from, i64 to) {
    for (i64 pass = from; pass < to; ++pass) {
      of.run().pass = pass;
      of.forward();
    }
  }
  std::vector<float> labels(const std::string& file = "out.h5") const {
    return values_in(folder_.file(file), "label", {});
  }
};

TEST_P(Hdf5OutputTest, AppendsEveryPassAndTheFileIsWholeAtAnyTime) {
  const auto of = net(text());
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.h5"))) << "only building a net makes no file";
  run(*of, 0, 2);
  // As whoever comes after a killed process finds it.
  std::filesystem::copy_file(folder_.file("out.h5"), folder_.file("copy.h5"));
  EXPECT_EQ(labels("copy.h5"), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  run(*of, 2, 3);
  std::filesystem::copy_file(folder_.file("out.h5"), folder_.file("again.h5"));
  EXPECT_EQ(labels("again.h5"), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1}));
  const auto data = values_in(folder_.file("again.h5"), "data", {2, 3});
  ASSERT_EQ(data.size(), 72u);
  EXPECT_EQ(data[6 * 5 + 4], 54);
  // What reads Caffe's files reads it too.
  const auto back = net("layer { name: 'd' type: 'HDF5Data' top: 'data' top: 'label' hdf5_data_param { source: '" +
                        folder_.file("again.h5") + "' batch_size: 12 } }");
  back->forward();
  EXPECT_EQ(back->blob("data")->data_vector(), data);
}

TEST_P(Hdf5OutputTest, RunsBeginAnewAndResumedTrainingGoesOn) {
  const auto training = [&] { return net("state { phase: TRAIN } " + text()); };
  run(*training(), 0, 4);  // as far as pass 3; the snapshot was after pass 1
  run(*training(), 2, 3);
  EXPECT_EQ(labels(), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1}));
  run(*training(), 0, 1);
  EXPECT_EQ(labels(), (std::vector<float>{0, 1, 2, 3}));
  write_hdf5(folder_.file("out.h5"), {{"data", {1, 7}, H5T_IEEE_F32LE, std::vector<float>(7)}});
  EXPECT_THROW(run(*training(), 2, 3), FileError);
  std::filesystem::remove(folder_.file("out.h5"));
  run(*training(), 2, 3);
  EXPECT_EQ(labels(), (std::vector<float>{8, 9, 0, 1}));
  run(*net(text()), 1, 2);  // testing, a rank may have pass 1 first
  EXPECT_EQ(labels(), (std::vector<float>{4, 5, 6, 7}));
}

TEST_P(Hdf5OutputTest, EveryRankHasItsFile) {
  auto second = options();
  second.writer = 1, second.writers = 2;
  const auto of = net(text(), second);
  of->run().rank = 1, of->run().ranks = 2;
  run(*of, 0, 1);
  EXPECT_EQ(labels("out.rank1.h5"), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.h5")));
}

/// It takes what layers that learn make, and no gradient comes back from it.
TEST_P(Hdf5OutputTest, StandsBesideALoss) {
  const auto of =
      net(text("layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { "
               "num_output: 10 weight_filler { type: 'xavier' } } } layer { name: 'loss' type: "
               "'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }",
               "ip"));
  of->clear_gradients();
  of->forward();
  of->backward();
  EXPECT_EQ(of->layers().back().need_backward, false);
  EXPECT_EQ(values_in(folder_.file("out.h5"), "data", {10}), of->blob("ip")->data_vector());
  const auto gradient = of->layer("ip")->blobs()[0]->diff_vector();
  EXPECT_TRUE(std::any_of(gradient.begin(), gradient.end(), [](float v) { return v != 0; }));
}

/// As where train_val.prototxt has the layer without a rule: the phases' rows would mix.
TEST_P(Hdf5OutputTest, NetsOfOneProcessHaveFilesOfTheirOwn) {
  {
    const auto training = net("state { phase: TRAIN } " + text());
    try {
      net(text());
      ADD_FAILURE() << "two nets write one file";
    } catch (const FileError& error) {
      const std::string said = error.what();
      EXPECT_NE(said.find("out.h5: is written by layer 'o' of the training net and by layer 'o' of a test net"),
                std::string::npos)
          << said;
      EXPECT_NE(said.find("include { phase: TEST }"), std::string::npos) << said;
    }
  }
  EXPECT_NO_THROW(net(text()));
}

TEST_P(Hdf5OutputTest, MistakesAreNamed) {
  auto without = options();
  without.sinks = nullptr;
  EXPECT_THROW(net(text(), without), ConfigError);
  EXPECT_THROW(net("layer { name: 'i' type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 } } } "
                   "layer { name: 'o' type: 'HDF5Output' bottom: 'a' bottom: 'b' }"),
               ConfigError);
  const std::string output =
      " layer { name: 'o' type: 'HDF5Output' bottom: 'a' bottom: 'b' hdf5_output_param { "
      "file_name: '" +
      folder_.file("none/out.h5") + "' } }";
  EXPECT_THROW(net("layer { name: 'i' type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 } shape { dim: 3 } "
                   "} }" +
                   output),
               ShapeError);
  const auto nowhere =
      net("layer { name: 'i' type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 } } }" + output);
  EXPECT_THROW(nowhere->forward(), FileError);
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(Backends, Hdf5OutputTest, ::testing::ValuesIn(backend_names()), name_of);

}  // namespace
}  // namespace cortado::test::hdf5_output_test
