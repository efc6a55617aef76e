// Images of their own sizes in batches of one: nets follow, whatever the format that they come from.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "layers/all_layers.h"
#include "parallel_io/feed/sources.h"
#include "parallel_io/sets/image.h"
#include "tests/support/hdf5_file.h"
#include "tests/support/layer_rig.h"
#include "tests/support/lmdb_file.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::any_shape_test {
namespace {

/// A small fully convolutional net on blobs "data" and "label", with what layers plan by shape.
constexpr const char* layers = R"(
  layer { name: 'c1' type: 'Convolution' bottom: 'data' top: 'c1'
          convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'bn' type: 'BatchNorm' bottom: 'c1' top: 'c1' batch_norm_param { use_global_stats: true } }
  layer { name: 'scale' type: 'Scale' bottom: 'c1' top: 'c1' scale_param { bias_term: true } }
  layer { name: 'relu' type: 'ReLU' bottom: 'c1' top: 'c1' }
  layer { name: 'pool' type: 'Pooling' bottom: 'c1' top: 'pool' pooling_param { kernel_size: 2 stride: 2 } }
  layer { name: 'c2' type: 'Convolution' bottom: 'pool' top: 'c2'
          convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'up' type: 'Deconvolution' bottom: 'c2' top: 'up'
          convolution_param { num_output: 16 kernel_size: 2 stride: 2 weight_filler { type: 'xavier' } } }
  layer { name: 'crop' type: 'Crop' bottom: 'up' bottom: 'c1' top: 'crop' }
  layer { name: 'sum' type: 'Eltwise' bottom: 'crop' bottom: 'c1' top: 'sum' }
  layer { name: 'score' type: 'Convolution' bottom: 'sum' top: 'score'
          convolution_param { num_output: 3 kernel_size: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'score' bottom: 'label' top: 'loss' })";

/// The same of layers that Caffe's forks have. Masks name places of planes that are larger where sizes are odd.
constexpr const char* fork_layers = R"(
  layer { name: 'c1' type: 'Convolution' bottom: 'data' top: 'c1'
          convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'dw' type: 'DepthwiseConvolution' bottom: 'c1' top: 'dw'
          convolution_param { kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'shuffle' type: 'ShuffleChannel' bottom: 'dw' top: 'shuffle' shuffle_channel_param { group: 4 } }
  layer { name: 'relu' type: 'ReLU6' bottom: 'shuffle' top: 'shuffle' }
  layer { name: 'norm' type: 'Normalize' bottom: 'shuffle' top: 'norm'
          norm_param { across_spatial: false channel_shared: false scale_filler { value: 3 } eps: 1e-2 } }
  layer { name: 'pool' type: 'Pooling' bottom: 'norm' top: 'pool' top: 'mask'
          pooling_param { kernel_size: 2 stride: 2 } }
  layer { name: 'prior' type: 'PriorBox' bottom: 'pool' bottom: 'data' top: 'prior'
          prior_box_param { min_size: 4 aspect_ratio: 2 } }
  layer { name: 'placed' type: 'Upsample' bottom: 'pool' bottom: 'mask' top: 'placed' upsample_param { scale: 2 } }
  layer { name: 'repeated' type: 'Upsample' bottom: 'pool' top: 'repeated' upsample_param { scale: 2 } }
  layer { name: 'up' type: 'Eltwise' bottom: 'placed' bottom: 'repeated' top: 'up' }
  layer { name: 'cut' type: 'Crop' bottom: 'up' bottom: 'c1' top: 'cut' }
  layer { name: 'stretched' type: 'Interp' bottom: 'pool' bottom: 'c1' top: 'stretched' }
  layer { name: 'mean' type: 'Pooling' bottom: 'norm' top: 'mean' pooling_param { pool: AVE global_pooling: true } }
  layer { name: 'axpy' type: 'Axpy' bottom: 'mean' bottom: 'cut' bottom: 'stretched' top: 'axpy' }
  layer { name: 'last' type: 'Permute' bottom: 'axpy' top: 'last' permute_param { order: 0 order: 2 order: 3 } }
  layer { name: 'first' type: 'Permute' bottom: 'last' top: 'first' permute_param { order: 0 order: 3 } }
  layer { name: 'score' type: 'Convolution' bottom: 'first' top: 'score'
          convolution_param { num_output: 3 kernel_size: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'score' bottom: 'label' top: 'loss' })";

struct Sample {
  i64 height, width;
  std::vector<float> image, label;  // 3 x height x width, height x width
};

/// Grows, shrinks, and comes back.
const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = [] {
    std::vector<Sample> made;
    for (const auto& [h, w] : {std::pair<i64, i64>{8, 10}, {17, 13}, {5, 21}, {8, 10}, {9, 6}}) {
      Sample s{h, w, {}, {}};
      for (i64 i = 0; i < 3 * h * w; ++i)
        s.image.push_back(static_cast<float>((i * i + 31 * static_cast<i64>(made.size())) % 251));
      for (i64 i = 0; i < h * w; ++i) s.label.push_back(static_cast<float>((i / 3) % 3));
      made.push_back(s);
    }
    return made;
  }();
  return all;
}

struct Result {
  double loss;
  std::vector<std::vector<float>> gradients;
};

class AnyShape : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Net> net(const std::string& data) const {
    caffe::NetParameter parameter;
    parse_text("name: 'n' " + data + behind_, "test", parameter);
    parameter.mutable_state()->set_phase(caffe::TRAIN);
    NetOptions options;
    options.group = &group_of(GetParam());
    options.layers = &table_;
    options.sources = &sources_;
    options.only_trains = true;
    return std::make_unique<Net>(parameter, options);
  }
  static std::string input_of(const Sample& s) {
    const std::string size = " dim: " + std::to_string(s.height) + " dim: " + std::to_string(s.width) + " } ";
    return "layer { name: 'in' type: 'Input' top: 'data' top: 'label' input_param { shape { dim: 1 dim: 3" + size +
           "shape { dim: 1 dim: 1" + size + "} }";
  }
  static Result pass(Net& of, i64 number) {
    of.run().pass = number;
    of.forward();
    of.clear_gradients();
    of.backward();
    Result result{of.loss(), {}};
    for (const auto& p : of.learnable()) result.gradients.push_back(p.blob->diff_vector());
    return result;
  }
  /// By nets that are built for one shape.
  std::vector<Result> expected() const {
    std::vector<Result> results;
    for (const Sample& s : samples()) {
      const auto one = net(input_of(s));
      one->inputs()[0]->write_data(s.image.data());
      one->inputs()[1]->write_data(s.label.data());
      results.push_back(pass(*one, 0));
    }
    return results;
  }
  static void expect_equal(const Result& actual, const Result& expected) {
    EXPECT_NEAR(actual.loss, expected.loss, 1e-5 * (1 + expected.loss));
    for (std::size_t i = 0; i < expected.gradients.size(); ++i)
      expect_near(actual.gradients[i], expected.gradients[i], 1e-3f, 1e-3f);
  }
  /// Beyond one turn, so that a shape comes back in another pass too; then as the second of two ranks.
  void expect_follows(const std::string& data) {
    const auto wanted = expected();
    const auto of = net(data);
    for (i64 number = 0; number < 6; ++number) {
      SCOPED_TRACE("pass " + std::to_string(number));
      const auto at = static_cast<std::size_t>(number % 5);
      expect_equal(pass(*of, number), wanted[at]);
      EXPECT_EQ(of->blob("score")->shape(), (Shape{1, 3, samples()[at].height, samples()[at].width}));
    }
    of->run().ranks = 2, of->run().rank = 1;
    expect_equal(pass(*of, 3), wanted[2]);  // 3 * 2 + 1 = 7
  }
  std::string two_sources(const std::string& type, const std::string& images, const std::string& labels,
                          const std::string& more = "") const {
    const std::string parameter = type == "Data" ? "data_param" : "image_data_param";
    const auto one = [&](const std::string& top, const std::string& source) {
      return "layer { name: '" + top + "' type: '" + type + "' top: '" + top + "' " + parameter + " { source: '" +
             source + "' batch_size: 1 " + more + " } } ";
    };
    return one("data", images) + one("label", labels);
  }
  void write_lmdbs() const {
    std::vector<caffe::Datum> images, labels;
    for (const Sample& s : samples()) {
      images.push_back(datum_of({3, s.height, s.width}, s.image));
      labels.push_back(datum_of({1, s.height, s.width}, s.label));
    }
    write_lmdb(folder_.file("images"), images);
    write_lmdb(folder_.file("labels"), labels);
  }

  std::string behind_ = layers;  // the data
  const LayerTable table_ = all_layers();
  const Sources sources_;
  const TemporaryFolder folder_;
};

TEST_P(AnyShape, InputsAreFollowedWithoutBeingAsked) {
  for (const char* const behind : {layers, fork_layers}) {
    behind_ = behind;
    const auto wanted = expected();
    const auto of = net(input_of(samples()[4]));
    for (std::size_t i = 0; i < samples().size(); ++i) {
      const Sample& s = samples()[i];
      of->inputs()[0]->reshape({1, 3, s.height, s.width});
      of->inputs()[1]->reshape({1, 1, s.height, s.width});
      of->inputs()[0]->write_data(s.image.data());
      of->inputs()[1]->write_data(s.label.data());
      expect_equal(pass(*of, 0), wanted[i]);
    }
  }
}

TEST_P(AnyShape, ImagesAndLabelsOfTwoLmdbs) {
  write_lmdbs();
  expect_follows(two_sources("Data", folder_.file("images"), folder_.file("labels")));
}

TEST_P(AnyShape, EncodedImagesOfAnLmdb) {
  std::vector<caffe::Datum> images;
  for (const Sample& s : samples()) {
    Image image{3, static_cast<int>(s.height), static_cast<int>(s.width), {}};
    for (std::size_t c = 3; c-- > 0;) {  // a Datum's planes are blue, green, red
      const auto plane = static_cast<std::ptrdiff_t>(s.label.size());
      const auto begin = s.image.begin() + static_cast<std::ptrdiff_t>(c) * plane;
      for (auto v = begin; v != begin + plane; ++v) image.values.push_back(static_cast<std::uint8_t>(*v));
    }
    const auto png = encode_png(image);
    caffe::Datum datum;
    datum.set_data(png.data(), png.size());
    datum.set_encoded(true);
    images.push_back(datum);
  }
  write_lmdbs();
  write_lmdb(folder_.file("png"), images);
  expect_follows(two_sources("Data", folder_.file("png"), folder_.file("labels")));
}

TEST_P(AnyShape, Hdf5FilesOfOneShapeEach) {
  std::string list;
  for (std::size_t i = 0; i < samples().size(); ++i) {
    const Sample& s = samples()[i];
    const std::string name = "s" + std::to_string(i) + ".h5";
    write_hdf5(folder_.file(name),
               {{"data", {1, 3, s.height, s.width}, H5T_STD_U8LE, s.image},
                {"label", {1, 1, s.height, s.width}, i == 2 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE, s.label}});
    list += name + "\n";
  }
  folder_.write("list.txt", list);
  expect_follows("layer { name: 'd' type: 'HDF5Data' top: 'data' top: 'label' hdf5_data_param { source: '" +
                 folder_.file("list.txt") + "' batch_size: 1 } }");
}

TEST_P(AnyShape, ShuffledSourcesStayTogether) {
  write_lmdbs();
  const auto of = net(two_sources("Data", folder_.file("images"), folder_.file("labels"), "shuffle: true prefetch: 2"));
  std::vector<i64> areas;
  for (i64 number = 0; number < 10; ++number) {
    pass(*of, number);  // throws where image and label differ in size
    areas.push_back(of->blob("label")->count());
  }
  EXPECT_FALSE(std::equal(areas.begin(), areas.begin() + 5, areas.begin() + 5)) << "another order in every epoch";
  std::sort(areas.begin(), areas.begin() + 5);
  EXPECT_EQ(std::vector<i64>(areas.begin(), areas.begin() + 5), (std::vector<i64>{54, 80, 80, 105, 221}));
}

TEST_P(AnyShape, AListOfImagesAndTheirLabelImages) {
  std::string list = "\xEF\xBB\xBF";  // with an editor's mark, and its line ends
  for (std::size_t i = 0; i < samples().size(); ++i) {
    const Sample& s = samples()[i];
    const int h = static_cast<int>(s.height), w = static_cast<int>(s.width);
    Image image{3, h, w, {}}, label{1, h, w, {}};
    for (std::size_t c = 3; c-- > 0;)
      for (std::size_t p = 0; p < s.label.size(); ++p)
        image.values.push_back(static_cast<std::uint8_t>(s.image[c * s.label.size() + p]));
    for (const float v : s.label) label.values.push_back(static_cast<std::uint8_t>(v));
    for (const auto& [name, picture] : {std::pair<std::string, Image*>{"i", &image}, {"l", &label}}) {
      const auto png = encode_png(*picture);
      folder_.write(name + " " + std::to_string(i) + ".png", {png.begin(), png.end()});
    }
    list += "i " + std::to_string(i) + ".png l" + std::to_string(i) + ".png\r\n";
    std::filesystem::rename(folder_.file("l " + std::to_string(i) + ".png"),
                            folder_.file("l" + std::to_string(i) + ".png"));
  }
  folder_.write("list.txt", list);
  expect_follows("layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' image_data_param { source: '" +
                 folder_.file("list.txt") + "' batch_size: 1 } }");
}

TEST_P(AnyShape, AListOfSeveralLabels) {
  const auto png = encode_png(Image{1, 2, 2, {1, 2, 3, 4}});
  folder_.write("a.png", {png.begin(), png.end()});
  const auto labels_of = [&](const std::string& list) {
    folder_.write("list.txt", list);
    caffe::NetParameter parameter;
    parse_text("layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' image_data_param { source: '" +
                   folder_.file("list.txt") + "' batch_size: 2 is_color: false } }",
               "test", parameter);
    NetOptions options;
    options.group = &group_of(GetParam());
    options.layers = &table_;
    options.sources = &sources_;
    Net of(parameter, options);
    of.forward();
    return std::pair<Shape, std::vector<float>>{of.blob("label")->shape(), of.blob("label")->data_vector()};
  };
  EXPECT_EQ(labels_of("a.png 1 0 -1\na.png 0 1 7\n"),
            (std::pair<Shape, std::vector<float>>{{2, 3}, {1, 0, -1, 0, 1, 7}}));
  EXPECT_EQ(labels_of("a.png 4\na.png 5\n"), (std::pair<Shape, std::vector<float>>{{2}, {4, 5}}));
  const std::string said = message_of([&] { labels_of("a.png 1 2\na.png 3\n"); });
  EXPECT_NE(said.find("list.txt:2: gives 1 label, the first line 2 labels"), std::string::npos) << said;
}

TEST_P(AnyShape, InALargerBatchTheSampleAndBothShapesAreNamed) {
  write_lmdbs();
  const std::string one = two_sources("Data", folder_.file("images"), folder_.file("labels"));
  std::string two = one;
  for (std::size_t at = 0; (at = two.find("batch_size: 1", at)) != std::string::npos; ++at) two[at + 12] = '2';
  const std::string said = message_of([&] {
    const auto of = net(two);
    pass(*of, 0);
  });
  for (const char* part : {"sample 1", "3 17 13", "3 8 10", "batch_size: 1"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
}

TEST_P(AnyShape, ALayerThatCannotFollowIsNamedWithBothShapes) {
  write_lmdbs();
  const auto of =
      net(two_sources("Data", folder_.file("images"), folder_.file("labels")) +
          "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 2 } }");
  of->forward();
  of->run().pass = 1;
  const std::string said = message_of([&] { of->forward(); });
  for (const char* part : {"layer 'ip'", "1 3 8 10", "1 3 17 13"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
}

INSTANTIATE_TEST_SUITE_P(Backends, AnyShape, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::any_shape_test
