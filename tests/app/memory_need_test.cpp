// Memory that a net needs, without having it; and what is said where it is not there.
#include <gtest/gtest.h>

#include "app/measure/dry_group.h"
#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "core/net/output_sums.h"
#include "layers/all_layers.h"
#include "parallel_io/feed/sources.h"
#include "tests/support/backends.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::memory_need_test {
namespace {
constexpr i64 tera = 1000000000000;

std::unique_ptr<Net> net_on(CoreGroup& group, const std::string& text, const SourceOpener* sources = nullptr) {
  static const LayerTable layers = all_layers();
  caffe::NetParameter parameter;
  parse_text(text, "net", parameter);
  NetOptions options;
  options.group = &group;
  options.layers = &layers;
  options.sources = sources;
  return std::make_unique<Net>(parameter, options);
}

/// A layer with 1.2 TB of weights.
std::string wide(const std::string& filler = "xavier") {
  return "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 1000000 } } } "
         "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param { num_output: 300000 "
         "weight_filler { type: '" +
         filler + "' } } }";
}

TEST(DryGroup, NeedsNoMemoryForWhatItCounts) {
  DryGroup group(group_of("reference"));
  {
    const auto net = net_on(group, wide());
    net->forward();
    EXPECT_GE(group.peak(), tera);
    EXPECT_EQ(net->blob("y")->data_vector(), std::vector<float>(2 * 300000));
  }
  EXPECT_THROW(group.allocate(~std::size_t{0}), Error);
}

/// Layers and sums that work in host memory leave values alone.
TEST(DryGroup, ValuesOfTerabytesAreNotTouched) {
  DryGroup group(group_of("reference"));
  const auto net = net_on(group, R"(
      layer { name: 'in' type: 'Input' top: 'x' top: 'label' input_param {
        shape { dim: 1 dim: 5 dim: 1000000 dim: 100000 } shape { dim: 1 dim: 1 dim: 1000000 dim: 100000 } } }
      layer { name: 'largest' type: 'ArgMax' bottom: 'x' top: 'largest' argmax_param { axis: 1 } }
      layer { name: 'accuracy' type: 'Accuracy' bottom: 'x' bottom: 'label' top: 'accuracy' })");
  const OutputSums sums(*net);
  net->forward();
  EXPECT_GE(group.peak(), tera);
}

/// Nor does it read more of a data set than shapes.
TEST(DryGroup, BatchesOfAnySizeAreCounted) {
  const TemporaryFolder folder;
  const auto number = [](char n) { return std::string("\0\0\0", 3) + n; };
  folder.write("images-idx3",
               std::string("\0\0\x08\x03", 4) + number(2) + number(3) + number(4) + std::string(24, 'x'));
  folder.write("labels-idx1", std::string("\0\0\x08\x01", 4) + number(2) + std::string(2, '\1'));
  DryGroup group(group_of("reference"));
  const ShapesOnly sources;
  const auto net = net_on(group,
                          "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { batch_size: 2000000000 "
                          "prefetch: 3 source: '" +
                              folder.file("images-idx3") + "' } }",
                          &sources);
  net->forward();
  EXPECT_EQ(net->blob("data")->shape(), (Shape{2000000000, 1, 3, 4}));
  EXPECT_GE(group.peak(), i64{5} * 2000000000 * 13 * 4) << "three are read ahead, two in use";
}

TEST(Memory, ParametersThatDoNotFitAreNamed) {
  for (const char* filler : {"xavier", "constant"}) try {
      net_on(group_of("reference"), wide(filler));
      ADD_FAILURE() << "no machine has a terabyte to spare";
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_EQ(said.find("layer 'ip', its parameter blob 0 of shape 300000 1000000 (300000000000), 1200.0 GB: "), 0U)
          << said;
      EXPECT_NE(said.find(" are free"), std::string::npos) << said;
    }
}
}  // namespace
}  // namespace cortado::test::memory_need_test
