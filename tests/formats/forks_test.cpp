// Words of Caffe's forks: taken, ignored, or answered with what to write.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/mistakes.h"
#include "core/formats/close_name.h"
#include "core/formats/foreign_words.h"
#include "tests/formats/upgraded.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::forks_test {
namespace {

std::string complaint(const std::string& text) {
  return message_of([&] { upgraded(text); });
}

void expect_says(const std::string& text, const std::vector<std::string>& pieces) {
  const std::string said = complaint(text);
  for (const auto& piece : pieces) EXPECT_NE(said.find(piece), std::string::npos) << "'" << said << "' lacks " << piece;
}

TEST(Forks, CeilModeIsARoundMode) {
  const auto mode = [](const std::string& given) {
    const auto net = upgraded("layer { name: 'p' type: 'Pooling' pooling_param { kernel_size: 2 " + given + " } }");
    EXPECT_FALSE(net.layer(0).pooling_param().has_ceil_mode());
    return net.layer(0).pooling_param().round_mode();
  };
  EXPECT_EQ(mode("ceil_mode: false"), caffe::PoolingParameter::FLOOR);
  EXPECT_EQ(mode("ceil_mode: true"), caffe::PoolingParameter::CEIL);
  EXPECT_EQ(mode("ceil_mode: false round_mode: FLOOR"), caffe::PoolingParameter::FLOOR);
  expect_says("layer { name: 'p' type: 'Pooling' pooling_param { ceil_mode: false round_mode: CEIL } }",
              {"layer 'p'", "contradict", "round_mode"});
  EXPECT_EQ(upgraded("layers { name: 'p' type: POOLING pooling_param { ceil_mode: false } }")
                .layer(0)
                .pooling_param()
                .round_mode(),
            caffe::PoolingParameter::FLOOR)
      << "in old nets too";
}

TEST(Forks, HolesAreDilations) {
  const auto dilation = [](const std::string& given) {
    const auto net = upgraded("layer { name: 'c' type: 'Convolution' convolution_param { " + given + " } }");
    return std::vector<unsigned>(net.layer(0).convolution_param().dilation().begin(),
                                 net.layer(0).convolution_param().dilation().end());
  };
  EXPECT_EQ(dilation("hole: 4"), (std::vector<unsigned>{4}));
  EXPECT_EQ(dilation("hole_h: 2 hole_w: 3"), (std::vector<unsigned>{2, 3}));
  EXPECT_EQ(dilation("dilation: 2"), (std::vector<unsigned>{2}));
  expect_says("layer { name: 'c' type: 'Convolution' convolution_param { hole: 2 dilation: 2 } }", {"'c'", "twice"});
}

TEST(Forks, CropsMayBeNamedByTheirSides) {
  const auto net = upgraded("layer { name: 'd' type: 'Data' transform_param { crop_h: 224 crop_w: 224 } }");
  EXPECT_EQ(net.layer(0).transform_param().crop_size(), 224u);
  expect_says("layer { name: 'd' type: 'Data' transform_param { crop_h: 224 crop_w: 192 } }", {"'d'", "square"});
}

TEST(Forks, LibrariesAreNoMatter) {
  EXPECT_EQ(complaint("layer { name: 'c' type: 'Convolution' convolution_param { engine: MKLDNN num_output: 2 } }"),
            "");
  EXPECT_EQ(complaint("layer { name: 'b' type: 'BatchNorm' batch_norm_param { engine: CAFFE eps: 1e-4 } }"), "");
  EXPECT_EQ(complaint("layer { name: 'e' type: 'Eltwise' eltwise_param { engine: MKL2017 operation: MAX } }"), "");
  const auto net = upgraded("layer { name: 'c' convolution_param {\tengine: MKL2017 num_output: 7 } }");
  EXPECT_EQ(net.layer(0).convolution_param().num_output(), 7u) << "what stands behind is read";
}

TEST(Forks, OtherWordsAreAnsweredWithWhatToWrite) {
  expect_says("layer { name: 'b' type: 'BatchNorm' batch_norm_param { scale_bias: true } }",
              {"net.prototxt:1:", "'scale_bias'", "Scale layer"});
  expect_says("layer { name: 'b' type: 'BN' bn_param { slope_filler { value: 1 } } }", {"'bn_param'", "BatchNorm"});
  expect_says("default_forward_type: FLOAT16", {"'default_forward_type'", "precision: BF16"});
  expect_says("layer { name: 'b' type: 'CuDNNBatchNorm' cudnn_batch_norm_param { } }", {"batch_norm_param"});
}

TEST(Forks, AllMistakesOfAFileAreNamedAtOnce) {
  expect_says(
      "layer { name: 'a' pooling_param { pool: MEAN } }\nlayer { nme: 'b' }\nlayer { eltwise_param { operation: ADD } "
      "}\n"
      "layer { botom: 'x' }",
      {"1:41: 'MEAN' is no value of 'pool'", "2:9: no field 'nme'", "3:", "'ADD' is no value of 'operation'",
       "4:9: no field 'botom'"});
}

TEST(Forks, AKindOfMistakeIsOneLine) {
  const std::string layer = "layer { bn_param { } }\n";
  EXPECT_EQ(complaint(layer),
            "net.prototxt:1:9: no field 'bn_param' in 'layer' (write type: \"BatchNorm\" with "
            "batch_norm_param, and a Scale layer behind it)");
  std::string many;
  for (int i = 0; i < 100; ++i) many += layer;
  const std::string said = complaint(many + "nme: 'n'\nlayers { bn_param { } }");
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1 + 1) << said;
  for (const char* const piece : {"net.prototxt:1:9: ", "; also in lines 2, 3, 4, 5 and 95 more\n",
                                  "net.prototxt:101:1: no field 'nme'", "net.prototxt:102:10: no field 'bn_param'"})
    EXPECT_NE(said.find(piece), std::string::npos) << said;
}

TEST(Forks, AnUnknownValueIsNamedOnceForAllItsPlaces) {
  const std::string one = "layer { pooling_param { pool: MEAN } }\n",
                    other = "layer { eltwise_param { operation: ADD } }\n";
  const std::string said =
      complaint(one + other + one + one + "layer {\t pooling_param { pool: MEAN } typ: 'a' }\n" + other);
  EXPECT_EQ(
      said,
      "net.prototxt:1:31: 'MEAN' is no value of 'pool' (choose from MAX, AVE, STOCHASTIC); also in lines 3, 4, 5\n"
      "net.prototxt:2:36: 'ADD' is no value of 'operation' (choose from PROD, SUM, MAX); also in line 6\n"
      "net.prototxt:5:39: no field 'typ' in 'layer' (did you mean 'type'?)");
  EXPECT_EQ(complaint("layer { reduction_param { operation: ADD } }\n" + other),
            "net.prototxt:1:38: 'ADD' is no value of 'operation' (choose from SUM, ASUM, SUMSQ, MEAN)\n"
            "net.prototxt:2:36: 'ADD' is no value of 'operation' (choose from PROD, SUM, MAX)");
  expect_says("layers { type: VIDEO_DATA }", {"1:16: 'VIDEO_DATA' is no value of 'type'", "HDF5"});
}

TEST(Forks, ManyKindsAreCounted) {
  try {
    upgraded("nme: 'a' nme: 'b' typ: 1");
    FAIL();
  } catch (const Mistakes& mistakes) {
    EXPECT_EQ(mistakes.lines().size(), 2U);
    EXPECT_EQ(mistakes.count(), 3U);
    EXPECT_EQ(lines_of(mistakes), mistakes.lines());
  }
  EXPECT_EQ(lines_of(ConfigError("a", "b\nc")), std::vector<std::string>{"a: b\nc"});
  EXPECT_EQ(Mistakes({"a\nE1127 b", "c"}).what(), std::string("a\\nE1127 b\nc"));
}

TEST(Forks, TypesAreAnsweredWithWhatToWrite) {
  EXPECT_NE(foreign_type("ROIPooling").find(end_of_net()), std::string::npos);
  EXPECT_NE(foreign_type("SeLu").find("ELU"), std::string::npos);
  EXPECT_EQ(foreign_type("Convolution"), "");
}

TEST(Prototxt, AByteOrderMarkIsNoText) {
  const auto said = [](const std::string& text) {
    TemporaryFolder folder;
    std::ofstream(folder.file("net.prototxt")) << text;
    caffe::NetParameter net;
    return message_of([&] { read_net(folder.file("net.prototxt"), net); });
  };
  const auto has = [](const std::string& text, const char* piece) { return text.find(piece) != std::string::npos; };
  EXPECT_EQ(said("\xEF\xBB\xBFname: 'n'\r\nlayer {\r\n name: 'a' type: 'ReLU' }\r\n"), "");
  EXPECT_TRUE(has(said("\xEF\xBB\xBFnme: 'n'"), "net.prototxt:1:1: no field 'nme'"));
  EXPECT_TRUE(has(said(std::string("\xFF\xFEn\0a\0", 6)), "is a text in UTF-16 (save it in UTF-8)"));
  EXPECT_TRUE(has(said(std::string("\xFE\xFF\0n\0a", 6)), "is a text in UTF-16"));
}

TEST(CloseName, FindsWhatWasMeant) {
  const std::vector<std::string> verbs = {"train", "test", "time", "tune"};
  EXPECT_EQ(close_name("trian", verbs), "train");
  EXPECT_EQ(close_name("TRAIN", verbs), "train");
  EXPECT_EQ(close_name("tets", verbs), "test");
  EXPECT_EQ(close_name("extraordinary", verbs), "");
  EXPECT_EQ(close_name("Axpy", {"Exp", "Log"}), "") << "another name, not another spelling";
  EXPECT_EQ(close_name("ROIPooling", {"Pooling"}), "");
  EXPECT_EQ(close_name("--slover", {"--solver", "--snapshot"}), "--solver");
}

}  // namespace
}  // namespace cortado::test::forks_test
