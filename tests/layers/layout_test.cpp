// Layers on blobs in blocks of channels against the same layers on planes, on the same values.
#include "core/base/layout.h"

#include <algorithm>

#include "core/base/error.h"
#include "tests/support/results.h"

namespace cortado::test::layout_test {
namespace {

struct Case {
  const char* name;
  const char* layer;
  std::vector<Shape> bottoms;
  int tops = 1;
};

const std::vector<Case>& cases() {
  const Shape image = {3, 32, 13, 11}, small = {1, 16, 2, 3}, wide = {2, 48, 1, 67};
  static const std::vector<Case> all = {
      {"relu", "type: 'ReLU' relu_param { negative_slope: 0.25 }", {wide}},
      {"clip", "type: 'Clip' clip_param { min: -0.5 max: 0.75 }", {wide}},
      {"sigmoid", "type: 'Sigmoid'", {small}},
      {"swish", "type: 'Swish'", {image}},
      {"split", "type: 'Split'", {image}, 3},
      {"sum", "type: 'Eltwise' eltwise_param { coeff: 0.5 coeff: -2 }", {image, image}},
      {"product", "type: 'Eltwise' eltwise_param { operation: PROD }", {small, small}},
      {"largest", "type: 'Eltwise' eltwise_param { operation: MAX }", {wide, wide, wide}},
      {"concat", "type: 'Concat'", {{3, 16, 13, 11}, image}},
      {"concat_of_images", "type: 'Concat' concat_param { axis: 0 }", {{1, 32, 13, 11}, image}},
      {"batch_norm", "type: 'BatchNorm'", {image}},
      {"batch_norm_small", "type: 'BatchNorm'", {small}},
      {"batch_norm_of_many_pixels", "type: 'BatchNorm'", {{2, 16, 63, 67}}},
      {"global_batch_norm", "type: 'BatchNorm' batch_norm_param { use_global_stats: true }", {wide}},
      {"scale", "type: 'Scale' scale_param { bias_term: true }", {image}},
      {"scale_small", "type: 'Scale'", {small}},
      {"bias", "type: 'Bias' bias_param { filler { type: 'uniform' } }", {wide}},
      {"scale_given", "type: 'Scale'", {image, {32}}},
      {"scale_of_each_image", "type: 'Scale' scale_param { axis: 0 bias_term: true }", {image, {3, 32}}},
      {"bias_of_each_image", "type: 'Bias' bias_param { axis: 0 }", {wide, {2, 48}}},
      {"max_pool_3", "type: 'Pooling' pooling_param { kernel_size: 3 stride: 2 }", {image}},
      {"max_pool_3_padded", "type: 'Pooling' pooling_param { kernel_size: 3 pad: 1 }", {image}},
      {"max_pool_2", "type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 }", {image}},
      {"max_pool_2_apart", "type: 'Pooling' pooling_param { kernel_size: 2 stride: 3 pad: 1 }", {image}},
      {"max_pool_5", "type: 'Pooling' pooling_param { kernel_size: 5 stride: 1 pad: 2 }", {image}},
      {"max_pool_rectangle",
       "type: 'Pooling' pooling_param { kernel_h: 1 kernel_w: 4 stride_h: 1 stride_w: 2 }",
       {wide}},
      {"max_pool_all", "type: 'Pooling' pooling_param { global_pooling: true }", {image}},
      {"average_pool", "type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }", {image}},
      {"average_pool_5", "type: 'Pooling' pooling_param { pool: AVE kernel_size: 5 stride: 1 pad: 2 }", {image}},
      {"average_pool_2", "type: 'Pooling' pooling_param { pool: AVE kernel_size: 2 stride: 2 }", {small}},
      {"average_pool_all", "type: 'Pooling' pooling_param { pool: AVE global_pooling: true }", {image}},
      {"lrn", "type: 'LRN' lrn_param { alpha: 2 }", {image}},
      {"lrn_power", "type: 'LRN' lrn_param { local_size: 7 alpha: 2 beta: 0.5 }", {wide}},
      {"lrn_small", "type: 'LRN' lrn_param { alpha: 2 }", {small}},
  };
  return all;
}

/// Everything that a pass computes.
Results results_of(const std::string& backend, const Case& c, Precision precision, Layout layout) {
  std::string text = std::string("name: 'l' ") + c.layer;
  for (std::size_t i = 0; i < c.bottoms.size(); ++i) text += " bottom: 'bottom" + std::to_string(i) + "'";
  for (int i = 0; i < c.tops; ++i) text += " top: 'top" + std::to_string(i) + "'";
  LayerRig rig(backend, text, c.bottoms, c.tops);
  const bool learns = rig.layer().parameter().type() != "BatchNorm";  // else blobs are statistics
  Layer::Blobs bottom;
  for (std::size_t i = 0; i < c.bottoms.size(); ++i) {
    rig.bottom(i).reshape(c.bottoms[i], precision, c.bottoms[i].size() > 2 ? layout : Layout::nchw);
    rig.fill_bottom(i, [i](i64 e) { return float(bf16(2 * noise(i, e))); });
    bottom.push_back(&rig.bottom(i));
  }
  EXPECT_TRUE(rig.layer().keeps_blocks(bottom));
  for (std::size_t i = 0; i < rig.layer().blobs().size(); ++i)
    rig.fill_blob(i, [&](i64 e) { return learns ? noise(20 + i, e) : 1.5F; });
  rig.forward();
  Results results;
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.tops); ++i) {
    const bool one_pixel = rig.top(i).count(2) == 1;
    EXPECT_EQ(rig.top(i).layout(), one_pixel ? Layout::nchw : layout);
    results.push_back(rig.top(i).data_vector());
    rig.fill_top_diff(i, [i](i64 e) { return float(bf16(noise(10 + i, e))); });
  }
  rig.backward();
  for (std::size_t i = 0; i < c.bottoms.size(); ++i) results.push_back(rig.bottom(i).diff_vector());
  for (std::size_t i = 0; i < rig.layer().blobs().size(); ++i)
    results.push_back(learns ? rig.blob(i).diff_vector() : rig.blob(i).data_vector());
  return results;
}

TEST(LayoutOfBlobs, HostsSeeRowMajorValuesWhateverTheLayout) {
  CoreGroup& group = group_of(backend_names().front());
  Blob blob(group);
  blob.reshape({2, 32, 3, 5}, Precision::fp32, Layout::nchw16c);
  const auto values = noise_vector(1, blob.count());
  blob.write_data(values.data());
  EXPECT_EQ(blob.data_vector(), values);
  std::vector<float> stored(static_cast<std::size_t>(blob.count()));
  group.copy(stored.data(), blob.data(), static_cast<std::size_t>(blob.bytes()));
  group.wait();
  // Channel 17 of image 1, pixel (2, 4): block 1 of that image, lane 1.
  EXPECT_EQ(stored[((1 * 2 + 1) * 15 + 14) * 16 + 1], values[((1 * 32 + 17) * 3 + 2) * 5 + 4]);
  Blob innermost(group);  // all channels
  innermost.reshape({2, 7, 3, 5}, Precision::fp32, Layout::nhwc);
  const auto fewer = noise_vector(2, innermost.count());
  innermost.write_data(fewer.data());
  EXPECT_EQ(innermost.data_vector(), fewer);
  group.copy(stored.data(), innermost.data(), static_cast<std::size_t>(innermost.bytes()));
  group.wait();
  EXPECT_EQ(stored[(1 * 15 + 14) * 7 + 6], fewer[((1 * 7 + 6) * 3 + 2) * 5 + 4]);
  Blob other(group);
  other.reshape_like(blob);
  EXPECT_EQ(other.layout(), Layout::nchw16c);
  other.reshape({2, 32, 1, 1}, Precision::fp32, Layout::nchw16c);
  EXPECT_EQ(other.layout(), Layout::nchw) << "of one pixel both are the same";
}

class LayoutTest : public ::testing::TestWithParam<std::string> {};
class Bf16LayoutTest : public LayoutTest {};

TEST_P(LayoutTest, BlocksGiveWhatPlanesGive) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    expect_same(results_of(GetParam(), c, Precision::fp32, Layout::nchw16c),
                results_of(GetParam(), c, Precision::fp32, Layout::nchw), 2e-5F, 1e-5F);
  }
}

TEST_P(Bf16LayoutTest, BlocksGiveWhatPlanesGiveButForRoundings) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto casts_stand_around = {"bias", "clip", "sigmoid", "swish", "_given", "_of_each_image"};
    const auto is_of = [&](const char* part) { return std::string(c.name).find(part) != std::string::npos; };
    if (std::any_of(casts_stand_around.begin(), casts_stand_around.end(), is_of)) continue;
    expect_same(results_of(GetParam(), c, Precision::bf16, Layout::nchw16c),
                results_of(GetParam(), c, Precision::bf16, Layout::nchw), 1e-3F, 0x1p-6F);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, LayoutTest, all_backends(), backend_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16LayoutTest);
INSTANTIATE_TEST_SUITE_P(Backends, Bf16LayoutTest, bf16_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::layout_test
