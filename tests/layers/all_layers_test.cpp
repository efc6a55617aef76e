// The table of layers, and what docs/use/layers.md says of it.
#include "layers/all_layers.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

#include "core/formats/caffe.pb.h"
#include "tests/support/backends.h"

namespace cortado::test::all_layers_test {
namespace {

struct Row {
  std::string bf16, in_place;
};

/// Rows of the page's tables whose first cell is a type in back quotes, by type.
std::map<std::string, Row> rows_of(const std::string& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in) << file;
  const std::regex row(R"(\| `(\w+)` \|[^|]*\|([^|]*)\|([^|]*)\|[^|]*\|)");
  std::map<std::string, Row> rows;
  std::smatch cells;
  for (std::string line; std::getline(in, line);)
    if (std::regex_match(line, cells, row)) {
      EXPECT_EQ(rows.count(cells[1]), 0u) << cells[1] << " stands there twice";
      const auto trimmed = [](std::string text) {
        text.erase(0, text.find_first_not_of(' '));
        text.erase(text.find_last_not_of(' ') + 1);
        return text;
      };
      rows[cells[1]] = {trimmed(cells[2]), trimmed(cells[3])};
    }
  return rows;
}

TEST(AllLayers, HaveALineOnTheirPageAndItIsTrue) {
  const auto rows = rows_of("docs/use/layers.md");
  const LayerTable table = all_layers();
  CoreGroup& group = group_of("reference");
  const Replicas alone;
  Services services;
  services.group = &group;
  RunState run;
  run.replicas = &alone;
  Workspace workspace(group);
  for (const auto& type : table.types()) {
    const auto found = rows.find(type);
    if (found == rows.end()) {
      ADD_FAILURE() << type << " is not on the page";
      continue;
    }
    caffe::LayerParameter parameter;
    parameter.set_type(type);
    parameter.set_name("l");
    parameter.add_bottom("a");
    parameter.add_top("b");
    EXPECT_EQ(table.keeps_bf16(parameter), !found->second.bf16.empty()) << type << ", bf16";
    const auto layer = table.make(parameter, LayerContext{services, run, workspace});
    EXPECT_EQ(layer->can_run_in_place(), found->second.in_place == "yes") << type << ", in place";
  }
  for (const auto& row : rows) EXPECT_TRUE(table.has(row.first)) << row.first << " is on the page, but is no layer";
}

/// Every layer type of Caffe's but Python.
TEST(AllLayers, AreThoseOfCaffe) {
  const LayerTable table = all_layers();
  for (const char* type : {"AbsVal",
                           "Accuracy",
                           "ArgMax",
                           "BatchNorm",
                           "BatchReindex",
                           "Bias",
                           "BNLL",
                           "Clip",
                           "Concat",
                           "ContrastiveLoss",
                           "Convolution",
                           "Crop",
                           "Data",
                           "Deconvolution",
                           "Dropout",
                           "DummyData",
                           "Eltwise",
                           "ELU",
                           "Embed",
                           "EuclideanLoss",
                           "Exp",
                           "Filter",
                           "Flatten",
                           "HDF5Data",
                           "HDF5Output",
                           "HingeLoss",
                           "Im2col",
                           "ImageData",
                           "InfogainLoss",
                           "InnerProduct",
                           "Input",
                           "Log",
                           "LRN",
                           "LSTM",
                           "LSTMUnit",
                           "MemoryData",
                           "MultinomialLogisticLoss",
                           "MVN",
                           "Parameter",
                           "Pooling",
                           "Power",
                           "PReLU",
                           "Reduction",
                           "ReLU",
                           "Reshape",
                           "RNN",
                           "Scale",
                           "Sigmoid",
                           "SigmoidCrossEntropyLoss",
                           "Silence",
                           "Slice",
                           "Softmax",
                           "SoftmaxWithLoss",
                           "Split",
                           "SPP",
                           "Swish",
                           "TanH",
                           "Threshold",
                           "Tile",
                           "WindowData"})
    EXPECT_TRUE(table.has(type)) << type;
}

}  // namespace
}  // namespace cortado::test::all_layers_test
