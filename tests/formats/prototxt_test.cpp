#include "core/formats/prototxt.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/tuning.pb.h"
#include "core/formats/weight_files.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::prototxt_test {
namespace {
/// What the parser says about `text` as a net called net.prototxt; empty if nothing.
std::string complaint(const std::string& text) {
  caffe::NetParameter net;
  try {
    parse_text(text, "net.prototxt", net);
  } catch (const ConfigError& error) { return error.what(); }
  return "";
}

TEST(Prototxt, ReadsWhatCaffesFilesHold) {
  EXPECT_EQ(complaint(R"(
    name: "net"  # a comment { with a brace
    layer {
      name: 'conv1' type: "Convolution" bottom: "data" top: "conv1"
      param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
      convolution_param { num_output: 20 kernel_size: 5 stride: 1 weight_filler { type: "xavier" } }
      include: { phase: TRAIN }
    }
    layer: < name: "pool" type: "Pooling" pooling_param: { pool: AVE kernel_size: 2; stride: 2, } >)"),
            "");
}

TEST(Prototxt, NamesTheClosestFieldAtItsPlace) {
  EXPECT_EQ(complaint("name: \"n\"\nlayer {\n  name: \"a\"\n  pooling_param {\n    kernel_sise: 3\n  }\n}\n"),
            "net.prototxt:5:5: no field 'kernel_sise' in 'pooling_param' (did you mean 'kernel_size'?)");
}

/// What the parser says about `text` as such a message.
template <class Message>
std::string complaint_of(const std::string& text) {
  Message message;
  try {
    parse_text(text, "file", message);
  } catch (const ConfigError& error) { return error.what(); }
  return "";
}

TEST(Prototxt, TellsAFileOfAnotherKind) {
  const std::string net = "name: 'n' layer { name: 'a' type: 'ReLU' }", solver = "net: 'x.prototxt' base_lr: 0.1";
  const std::string tuning = "version: 2 machine { threads: 2 work { shape: 'mb1' } }";
  const std::string named = complaint_of<caffe::NetParameter>(solver);
  EXPECT_EQ(named, "file: is a solver, no net (give the net that it names: x.prototxt)");
  EXPECT_EQ(complaint_of<caffe::NetParameter>("# a comment { \n base_lr: 0.1 net_param { name: 'n' }"),
            "file: is a solver, no net (give a net)");
  EXPECT_EQ(complaint_of<caffe::SolverParameter>(net).find("file: is a net, no solver (write a solver that names it, "
                                                           "such as: net: \"file\" base_lr:"),
            0U);
  EXPECT_EQ(complaint_of<caffe::SolverParameter>(tuning).find("file: is a tuning file, no solver"), 0U);
  EXPECT_EQ(complaint_of<caffe::CortadoTuningFile>(net).find("file: is a net, no tuning file"), 0U);
  // Mistakes in a net leave it a net; so does what another kind has too.
  EXPECT_EQ(complaint("name: 'n' layr { name: 'a' }").find("net.prototxt:1:11: no field 'layr'"), 0U);
  EXPECT_EQ(complaint_of<caffe::SolverParameter>("base_lr: 0.1 layer { }").find("file:1:14: no field 'layer'"), 0U);
  EXPECT_EQ(complaint_of<caffe::SolverParameter>("quality: 3").find("file:1:1: no field 'quality'"), 0U);
}

TEST(Prototxt, TellsBinaryFilesFromTexts) {
  const TemporaryFolder folder;
  folder.write("image.png", std::string("\x89PNG\r\n\x1a\n\0\0", 10));
  folder.write("data", std::string("\x89HDF\r\n\x1a\n\0\0", 10));
  const auto said = [](const auto& read) -> std::string {
    try {
      read();
    } catch (const Error& error) { return error.what(); }
    return "";
  };
  const std::string image = folder.file("image.png"), data = folder.file("data");
  caffe::SolverParameter solver;
  caffe::NetParameter net;
  EXPECT_EQ(said([&] { read_solver(image, solver); }).find(image + ": is a binary file, where a text is due"), 0U);
  EXPECT_EQ(said([&] { read_net(data, net); }).find(data + ": is an HDF5 file, where a net is due"), 0U);
  folder.write("net.prototxt", "name: 'n' layer { name: 'a' type: 'ReLU' }");
  const std::string text = folder.file("net.prototxt");
  EXPECT_EQ(said([&] { read_weights(text, nullptr, net); }),
            text + ": is a net and holds no weights (give a .caffemodel)");
  folder.write("weights.prototxt", "layer { name: 'a' type: 'ReLU' blobs { shape { dim: 1 } data: 1 } }");
  EXPECT_EQ(said([&] { read_weights(folder.file("weights.prototxt"), nullptr, net); }), "");
}

TEST(Prototxt, SaysNothingCloseWhenNothingIs) {
  EXPECT_EQ(complaint("quality: 3"), "net.prototxt:1:1: no field 'quality' in NetParameter");
}

TEST(Prototxt, ReportsAllUnknownFields) {
  EXPECT_EQ(complaint("nme: \"n\"\nlayer { typ: \"ReLU\" }\nlayer { botom { x: 1 } }"),
            "net.prototxt:1:1: no field 'nme' in NetParameter (did you mean 'name'?)\n"
            "net.prototxt:2:9: no field 'typ' in 'layer' (did you mean 'type'?)\n"
            "net.prototxt:3:9: no field 'botom' in 'layer' (did you mean 'bottom'?)");
}

TEST(Prototxt, ListsTheValuesOfAnEnum) {
  EXPECT_EQ(complaint("layer {\n  # operation is an enum of two messages {\n  eltwise_param { operation: ADD }\n}"),
            "net.prototxt:3:30: 'ADD' is no value of 'operation' (choose from PROD, SUM, MAX)");
  EXPECT_EQ(complaint("layer { reduction_param { operation: ADD } }"),
            "net.prototxt:1:38: 'ADD' is no value of 'operation' (choose from SUM, ASUM, SUMSQ, MEAN)");
}

TEST(Prototxt, NamesTheFieldOfAWrongType) {
  EXPECT_EQ(complaint("layer {\n  convolution_param { num_output: \"many\" }\n}"),
            "net.prototxt:2:35: bad value of field 'num_output': Expected integer, got: \"many\"");
  EXPECT_NE(complaint("force_backward: 7").find("net.prototxt:1:"), std::string::npos);
  EXPECT_NE(complaint("layer { convolution_param { num_output: -1 } }").find("'num_output'"), std::string::npos);
}

TEST(Prototxt, BytesOutsideQuotesAreAscii) {
  const std::string said = complaint("name: 'caf\xE9'\ncaf\xE9: 1");
  EXPECT_NE(said.find("net.prototxt:2:4: byte 233 stands outside quotes, where all is ASCII"), std::string::npos)
      << said;
}

TEST(Prototxt, RefusesNan) {
  EXPECT_EQ(complaint("layer { name: 'a' batch_norm_param { eps: nan } }"),
            "net.prototxt: layer 'a': batch_norm_param.eps is not a number (write one)");
  EXPECT_EQ(complaint("layer { name: 'b' eltwise_param { coeff: 1 coeff: -nan } }"),
            "net.prototxt: layer 'b': eltwise_param.coeff is not a number (write one)");
  EXPECT_EQ(complaint("layer { name: 'c' clip_param { min: -inf max: inf } }"), "");
}

TEST(Prototxt, FindsTheBlockWithoutABrace) {
  const std::string text = complaint("name: \"n\"\nlayer {\n  name: \"a\"\n  pooling_param {\n    stride: 2\n  }\n");
  EXPECT_EQ(text, "net.prototxt:7:1: the text ends inside 'layer', which is opened at line 2 (a '}' is missing)");
  EXPECT_NE(complaint("layer { name: \"a\" }\n}").find("net.prototxt:2:1"), std::string::npos);
}

TEST(Prototxt, RefusesAFieldGivenTwice) {
  EXPECT_NE(complaint("name: \"a\"\nname: \"b\"").find("net.prototxt:2:"), std::string::npos);
}

TEST(Prototxt, NamesAMissingRequiredField) {
  const std::string text = complaint("layer { clip_param { min: 0 } }");
  EXPECT_NE(text.find("net.prototxt"), std::string::npos);
  EXPECT_NE(text.find("max"), std::string::npos);
}

TEST(Prototxt, BlocksMayNestButNotWithoutEnd) {
  const auto nested = [](const std::string& open, int times) {
    std::string text = "# {{{ \" ' <\nname: \"{\\\"{\"\n";
    for (int i = 0; i < times; ++i) text += open;
    return text;
  };
  for (const std::string open : {"x {", "x <", "x: [", "layer {"})
    EXPECT_EQ(complaint(nested(open, 100000)), "net.prototxt:3: has more than 100 blocks within one another");
  EXPECT_EQ(complaint(nested("x {", 90) + std::string(90, '}')), "net.prototxt:3:1: no field 'x' in NetParameter");
  EXPECT_EQ(complaint(nested("layer {}", 1000)), "");
}

TEST(Prototxt, OfVeryManyMistakesTheFirstAreNamed) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += (i == 7 ? std::string(30000, 'z') : "z" + std::to_string(i)) + ": 1\n";
  const std::string said = complaint(text);
  EXPECT_NE(said.find("net.prototxt:50:1: no field 'z49'"), std::string::npos);
  EXPECT_EQ(said.substr(said.rfind('\n') + 1), "net.prototxt: and 19950 more");
}

TEST(Prototxt, NamesAnAbsentFileAndAFolder) {
  TemporaryFolder folder;
  caffe::NetParameter net;
  try {
    read_text(folder.file("absent.prototxt"), net);
    FAIL() << "an absent file was read";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("absent.prototxt: cannot be read: No such file"), std::string::npos);
  }
  EXPECT_THROW(read_text(folder.path().string(), net), FileError);
}

}  // namespace
}  // namespace cortado::test::prototxt_test
