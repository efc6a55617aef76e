// Command lines as Caffe's scripts have them.
#include "app/command_line/caffe_words.h"

#include <gtest/gtest.h>

#include "app/command_line/command_line.h"
#include "core/base/error.h"

namespace cortado::test::caffe_words_test {
namespace {

Command parsed(std::vector<std::string> words) {
  words.insert(words.begin(), "cortado");
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

/// What a flag was given; "none" without it.
std::string value(const Command& command, const std::string& flag) {
  for (const GivenFlag& given : command.given)
    if (given.name == flag) return given.text;
  return "none";
}

std::string complaint(const std::vector<std::string>& words) {
  try {
    parsed(words);
  } catch (const ConfigError& error) { return error.what(); }
  return "";
}

void expect_says(const std::vector<std::string>& words, const std::vector<std::string>& pieces) {
  const std::string said = complaint(words);
  for (const auto& piece : pieces) EXPECT_NE(said.find(piece), std::string::npos) << "'" << said << "' lacks " << piece;
}

TEST(CaffeWords, FlagsOfTheLogAreLeftOut) {
  const auto o = parsed({"train", "--logtostderr=1", "-alsologtostderr", "-log_dir", "logs", "--minloglevel=2", "-v",
                         "3", "-solver", "s.prototxt", "-stderrthreshold", "0", "--weights=a,b", "-nolog_prefix"});
  EXPECT_EQ(o.name, "train");
  EXPECT_EQ(value(o, "--solver"), "s.prototxt");
  EXPECT_EQ(value(o, "--weights"), "a,b");
  EXPECT_EQ(o.given.size(), 2U);
  EXPECT_EQ(parsed({"--logtostderr=1", "test", "-model", "m", "-weights", "w"}).name, "test") << "before the verb too";
}

TEST(CaffeWords, EffectsOfSignalsMeanNothingToOtherVerbs) {
  const auto o = parsed({"test", "-model", "m", "-weights", "w", "-iterations", "7", "-sigint_effect", "stop",
                         "-sighup_effect=none", "-level", "1", "-stage", "a,b"});
  EXPECT_EQ(value(o, "--iterations"), "7");
  EXPECT_EQ(value(o, "--level"), "1");
  EXPECT_EQ(value(o, "--stage"), "a,b");
  EXPECT_EQ(parsed({"device_query", "-gpu", "0"}).name, "device_query");
}

TEST(CaffeWords, FlagsThatWouldDoNothingAreRefused) {
  expect_says({"train", "-solver", "s", "-iterations", "3"}, {"train does nothing with -iterations", "max_iter"});
  expect_says({"train", "-solver", "s", "--model=m"}, {"train does nothing with -model"});
  expect_says({"test", "-model", "m", "-weights", "w", "-phase", "TRAIN"}, {"test does nothing with -phase", "TEST"});
  expect_says({"test", "-model", "m", "-snapshot", "x.solverstate"}, {"-snapshot", ".caffemodel with -weights"});
  expect_says({"time", "-solver", "s"}, {"give the net with -model"});
  expect_says({"device_query", "-weights", "w"}, {"does nothing with -weights"});
}

TEST(CaffeWords, GpusAreTaken) {
  for (const char* gpu : {"0", "0,1", "all"}) {
    EXPECT_EQ(value(parsed({"train", "-gpu", gpu, "-solver", "s"}), "--devices"), gpu);
    EXPECT_EQ(value(parsed({"train", std::string("--gpu=") + gpu, "-solver", "s"}), "--devices"), gpu);
    EXPECT_EQ(value(parsed({"time", "-model", "m", "-gpu", gpu}), "--model"), "m");
  }
}

TEST(CaffeWords, OtherToolsHaveACommandHere) {
  expect_says({"convert_imageset", "-resize_height=32", "root/", "list.txt", "out"}, {"cortado convert set", "lmdb"});
  expect_says({"compute_image_mean.bin", "in", "out"}, {"cortado convert mean"});
  expect_says({"extract_features", "w", "m", "fc7", "out", "10", "lmdb"}, {"cortado extract"});
  expect_says({"caffe", "train"}, {"cortado"});
}

TEST(CaffeWords, WhatWasMeantIsSaid) {
  expect_says({"trian", "-solver", "s"}, {"'cortado trian'", "did you mean 'train'?"});
  expect_says({"train", "-slover", "s"}, {"no flag --slover", "did you mean --solver?"});
  expect_says({"train", "-solver", "s", "--wieghts=w"}, {"did you mean --weights?"});
  expect_says({"convert", "imges", "a", "b"}, {"did you mean 'images'?"});
  expect_says({"bench", "conv", "--bacth", "3"}, {"did you mean --batch?"});
  expect_says({"bench", "conv", "--zzzz", "3"},
              {"cortado bench conv has no flag --zzzz (see cortado bench conv --help)"});
  expect_says({"--zzzz"}, {"cortado has no flag --zzzz (see cortado --help)"});
  expect_says({"bench", "cnv"}, {"no command 'cortado bench cnv' (did you mean 'conv'?)"});
  expect_says({"train", "-solver", "s", "--frobnicate"}, {"no flag --frobnicate", "--help"});
  expect_says({"fry"}, {"there are:", "train"});
  expect_says({"check", "-gpus", "0"}, {"no flag --gpus"});
}

TEST(CaffeWords, NumbersAreNumbers) {
  expect_says({"train", "-solver", "s", "--patience", "nan"}, {"--patience is nan"});
  expect_says({"train", "-solver", "s", "--patience=-inf"}, {"--patience is -inf"});
  expect_says({"classify", "-model", "m", "-weights", "w", "-mean_value", "104,NaN,3", "x.png"}, {"NaN"});
  const auto train = [](const std::string& flag, const std::string& value) {
    return complaint({"train", "-solver", "s", flag, value});
  };
  EXPECT_NE(train("--core-groups", "0").find("--core-groups: must be at least 1, it is 0"), std::string::npos);
  EXPECT_NE(train("--core-groups", "1.5").find("'1.5' is no whole number"), std::string::npos);
  EXPECT_NE(train("--core-groups", "two").find("'two' is no whole number"), std::string::npos);
  EXPECT_NE(train("--core-groups", "99999999999").find("99999999999 is too large"), std::string::npos);
  EXPECT_NE(train("--snapshot-keep", "-1").find("must be 0 or more, it is -1"), std::string::npos);
  EXPECT_NE(train("--patience", "1e999").find("--patience: 1e999 is too large"), std::string::npos);
  EXPECT_NE(train("--patience", "-1").find("must be more than 0, it is -1"), std::string::npos);
  EXPECT_NE(train("--patience", "0").find("must be more than 0, it is 0"), std::string::npos);
  EXPECT_NE(train("--patience", "soon").find("'soon' is no number"), std::string::npos);
  expect_says({"classify", "-model", "m", "-weights", "w", "--scale", "0", "x.png"},
              {"--scale: must be from 1e-30 to 1e+30"});
  EXPECT_EQ(value(parsed({"train", "-solver", "nan"}), "--solver"), "nan") << "a file's name";
}

}  // namespace
}  // namespace cortado::test::caffe_words_test
