// Nets that label every pixel, as they are published, with few channels: they learn from images of their own sizes,
// with images and labels in two LMDBs.
#include <gtest/gtest.h>

#include <cmath>

#include "app/session/backend.h"
#include "core/base/random.h"
#include "core/formats/prototxt.h"
#include "core/solver/solver.h"
#include "tests/models/learning.h"
#include "tests/support/lmdb_file.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::segmentation_test {
namespace {

CoreGroup& group() {
  static const auto processor = make_processor();
  return processor->group(0);
}

std::string layer(const std::string& name, const std::string& type, const std::vector<std::string>& bottoms,
                  const std::string& top, const std::string& more = "") {
  std::string text = "layer { name: '" + name + "' type: '" + type + "' ";
  for (const auto& bottom : bottoms) text += "bottom: '" + bottom + "' ";
  return text + "top: '" + top + "' " + more + " }\n";
}

std::string convolution(const std::string& name, const std::string& bottom, int outputs, const std::string& window) {
  return layer(
      name, "Convolution", {bottom}, name,
      "param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 } convolution_param { num_output: " +
          std::to_string(outputs) + " " + window + " weight_filler { type: 'msra' } }");
}

std::string rectified(const std::string& name, const std::string& bottom, int outputs, const std::string& window) {
  return convolution(name, bottom, outputs, window) + layer("relu_" + name, "ReLU", {name}, name);
}

std::string max_pool(const std::string& name, const std::string& bottom) {
  return layer(name, "Pooling", {bottom}, name, "pooling_param { pool: MAX kernel_size: 2 stride: 2 }");
}

std::string deconvolution(const std::string& name, const std::string& bottom, int outputs, const std::string& window,
                          const std::string& filler) {
  return layer(name, "Deconvolution", {bottom}, name,
               "convolution_param { num_output: " + std::to_string(outputs) + " bias_term: false " + window +
                   " weight_filler { type: '" + filler + "' } }");
}

std::string crop(const std::string& name, const std::string& bottom, const std::string& like, int offset) {
  return layer(name, "Crop", {bottom, like}, name, "crop_param { axis: 2 offset: " + std::to_string(offset) + " }");
}

/// shelhamer/fcn.berkeleyvision.org's voc-fcn8s: fillings, offsets and names are its own.
std::string fcn8s() {
  const std::string plain = "pad: 1 kernel_size: 3 stride: 1", one = "pad: 0 kernel_size: 1";
  return rectified("conv1_1", "data", 4, "pad: 100 kernel_size: 3 stride: 1") + max_pool("pool1", "conv1_1") +
         rectified("conv2_1", "pool1", 8, plain) + max_pool("pool2", "conv2_1") +
         rectified("conv3_1", "pool2", 16, plain) + max_pool("pool3", "conv3_1") +
         rectified("conv4_1", "pool3", 16, plain) + max_pool("pool4", "conv4_1") +
         rectified("conv5_1", "pool4", 16, plain) + max_pool("pool5", "conv5_1") +
         rectified("fc6", "pool5", 16, "pad: 0 kernel_size: 7 stride: 1") + rectified("fc7", "fc6", 16, one) +
         convolution("score_fr", "fc7", 2, one) +
         deconvolution("upscore2", "score_fr", 2, "kernel_size: 4 stride: 2", "xavier") +
         convolution("score_pool4", "pool4", 2, one) + crop("score_pool4c", "score_pool4", "upscore2", 5) +
         layer("fuse_pool4", "Eltwise", {"upscore2", "score_pool4c"}, "fuse_pool4",
               "eltwise_param { operation: SUM }") +
         deconvolution("upscore_pool4", "fuse_pool4", 2, "kernel_size: 4 stride: 2", "xavier") +
         convolution("score_pool3", "pool3", 2, one) + crop("score_pool3c", "score_pool3", "upscore_pool4", 9) +
         layer("fuse_pool3", "Eltwise", {"upscore_pool4", "score_pool3c"}, "fuse_pool3",
               "eltwise_param { operation: SUM }") +
         deconvolution("upscore8", "fuse_pool3", 2, "kernel_size: 16 stride: 8", "xavier") +
         crop("score", "upscore8", "data", 31) +
         layer("loss", "SoftmaxWithLoss", {"score", "label"}, "loss",
               "loss_param { ignore_label: 255 normalize: true }") +
         layer("accuracy", "Accuracy", {"score", "label"}, "accuracy",
               "include { phase: TEST } "
               "accuracy_param { ignore_label: 255 }");
}

/// Ronneberger's U-Net: convolutions without padding, skips cropped to what comes up, labels cropped to the scores.
std::string unet() {
  const std::string three = "kernel_size: 3";
  return rectified("d0b", "data", 16, three) + rectified("d0c", "d0b", 16, three) + max_pool("d1a", "d0c") +
         rectified("d1b", "d1a", 16, three) + rectified("d1c", "d1b", 16, three) +
         deconvolution("u0a", "d1c", 16, "kernel_size: 2 stride: 2", "xavier") +
         layer("relu_u0a", "ReLU", {"u0a"}, "u0a") + crop("d0cc", "d0c", "u0a", 4) +
         layer("u0b", "Concat", {"u0a", "d0cc"}, "u0b") + rectified("u0c", "u0b", 16, three) +
         rectified("u0d", "u0c", 16, three) + convolution("score", "u0d", 2, "kernel_size: 1") +
         crop("label_crop", "label", "score", 9) + layer("loss", "SoftmaxWithLoss", {"score", "label_crop"}, "loss") +
         layer("accuracy", "Accuracy", {"score", "label_crop"}, "accuracy", "include { phase: TEST }");
}

/// Bright rectangles on dark noise, in images of many sizes; 255 on their border is to be ignored.
void write_data(const TemporaryFolder& folder, bool has_border) {
  std::vector<caffe::Datum> images, labels;
  for (std::uint64_t n = 0; n < 12; ++n) {
    const auto draw = [&](std::uint64_t what, i64 below) {
      return static_cast<i64>(random_bits(n, what) % static_cast<std::uint64_t>(below));
    };
    const i64 h = 36 + draw(0, 12), w = 40 + draw(1, 9);
    const i64 top = 4 + draw(2, 8), left = 4 + draw(3, 8), bottom = h - 4 - draw(4, 8), right = w - 4 - draw(5, 8);
    std::vector<float> image(static_cast<std::size_t>(3 * h * w)), label(static_cast<std::size_t>(h * w));
    for (i64 y = 0; y < h; ++y)
      for (i64 x = 0; x < w; ++x) {
        const bool inside = y >= top && y < bottom && x >= left && x < right;
        const bool at_border = has_border && (y == top || x == left);
        label[static_cast<std::size_t>(y * w + x)] = at_border ? 255.0f : inside ? 1.0f : 0.0f;
        for (i64 c = 0; c < 3; ++c)
          image[static_cast<std::size_t>((c * h + y) * w + x)] =
              static_cast<float>((inside ? 150 : 20) + draw(static_cast<std::uint64_t>(100 + y * w + x), 60));
      }
    images.push_back(datum_of({3, h, w}, image));
    labels.push_back(datum_of({1, h, w}, label));
  }
  write_lmdb(folder.file("images"), images);
  write_lmdb(folder.file("labels"), labels);
}

struct Case {
  const char* name;
  std::string (*net)();
  int iterations;
  double rate;
};

class Segmentation : public ::testing::TestWithParam<Case> {};

TEST_P(Segmentation, LearnsFromImagesOfTheirOwnSizes) {
  const TemporaryFolder folder;
  write_data(folder, GetParam().net == fcn8s);
  const auto data = [&](const std::string& top, const std::string& source, const std::string& more) {
    return "layer { name: '" + top + "' type: 'Data' top: '" + top + "' data_param { source: '" + folder.file(source) +
           "' batch_size: 1 backend: LMDB shuffle: true } " + more + " }\n";
  };
  caffe::SolverParameter parameter;
  parse_text(
      "lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.0005 display: 5 snapshot_after_train: false "
      "random_seed: 1 test_iter: 12 test_interval: 1000 test_initialization: false base_lr: " +
          std::to_string(GetParam().rate),
      "solver", parameter);
  parse_text(
      data("data", "images", "transform_param { scale: 0.0078125 mean_value: 100 mean_value: 100 mean_value: 100 }") +
          data("label", "labels", "") + GetParam().net(),
      "net", *parameter.mutable_net_param());
  Solver solver(parameter, learner_options(group()));
  expect_learns(solver, GetParam().iterations, 12, 0.6);
  solver.test();
  double accuracy = 0;
  for (const auto& score : solver.scores().at(0))
    if (score.name == "accuracy") accuracy = score.value;
  EXPECT_GT(accuracy, 0.85);
}

INSTANTIATE_TEST_SUITE_P(Models, Segmentation,
                         ::testing::Values(Case{"fcn8s", fcn8s, 128, 0.04}, Case{"unet", unet, 60, 0.05}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace cortado::test::segmentation_test
