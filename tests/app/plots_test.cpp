// Parts of a report's pictures: axes, smoothing, the places of a net's boxes; checksums and names of a run's files.
#include <gtest/gtest.h>

#include "app/plots/axis.h"
#include "app/plots/chart.h"
#include "app/plots/net_layout.h"
#include "app/plots/svg.h"
#include "app/record/event_file.h"
#include "app/record/run_description.h"
#include "core/formats/prototxt.h"

namespace cortado::plots_test {
namespace {
TEST(Plots, AxesHaveRoundMarksBetweenTheirEnds) {
  EXPECT_EQ(Axis(0, 10, false).marks(), std::vector<double>({0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(Axis(-1, 1, false).marks().size(), 5U);
  EXPECT_EQ(Axis(0.001, 10, true).marks(), std::vector<double>({0.001, 0.01, 0.1, 1, 10}));
  EXPECT_DOUBLE_EQ(Axis(1, 100, true).at(10), 0.5);
  for (const double value : {0.0, 3.0, -2.0}) {  // one value gets room
    const Axis axis(value, value, false);
    EXPECT_LE(axis.low(), value);
    EXPECT_GT(axis.high(), axis.low());
    EXPECT_FALSE(axis.marks().empty());
  }
  const Axis one(3, 3, true);
  EXPECT_TRUE(one.low() < 3 && one.high() > 3 && !one.marks().empty());
}

TEST(Plots, SmoothedPointsAreMeansOfWhatIsThere) {
  const std::vector<RunSeries::Point> points = {{0, 0, 1}, {1, 0, 3}, {2, 0, 8}};
  const auto smooth = smoothed_points(points, 3);
  EXPECT_DOUBLE_EQ(smooth[0].value, 2);
  EXPECT_DOUBLE_EQ(smooth[1].value, 4);
  EXPECT_DOUBLE_EQ(smooth[2].value, 5.5);
  EXPECT_DOUBLE_EQ(smoothed_points(points, 1)[1].value, 3);
}

TEST(Plots, TextsForPeople) {
  EXPECT_EQ(xml_text("a<b & \"c\">\n"), "a&lt;b &amp; &quot;c&quot;&gt;\\n");
  EXPECT_EQ(count_text(60), "60");
  EXPECT_EQ(count_text(431080), "431 k");
  EXPECT_EQ(count_text(138357544), "138 M");
  EXPECT_EQ(duration_text(7500), "2 h 5 min");
  EXPECT_EQ(place(-0.01), "0");
}

/// A residual net: layers in place join the one before, the shortcut passes boxes, the label is a note.
TEST(Plots, BoxesOfANetStandBehindWhatTheyRead) {
  caffe::NetParameter net;
  parse_text(
      "layer { name: 'in' type: 'Data' top: 'data' top: 'label' }"
      "layer { name: 'a' type: 'Convolution' bottom: 'data' top: 'a' }"
      "layer { name: 'relu' type: 'ReLU' bottom: 'a' top: 'a' }"
      "layer { name: 'b' type: 'Convolution' bottom: 'a' top: 'b' }"
      "layer { name: 'c' type: 'Convolution' bottom: 'b' top: 'c' }"
      "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'c' top: 'sum' }"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'sum' bottom: 'label' top: 'loss' }",
      "net", net);
  const auto boxes = layout_of(net);
  std::size_t layers = 0, passages = 0;
  for (const NetBox& box : boxes) {
    layers += box.layers.size();
    passages += box.layers.empty() ? 1 : 0;
    for (const std::size_t from : box.from) EXPECT_EQ(boxes[from].depth + 1, box.depth);
    for (const NetBox& other : boxes) EXPECT_TRUE(&box == &other || box.depth != other.depth || box.lane != other.lane);
  }
  EXPECT_EQ(layers, 7U);
  EXPECT_EQ(passages, 2U);
  EXPECT_EQ(boxes[1].layers.size(), 2U);
  EXPECT_EQ(boxes[5].notes, std::vector<std::string>({"label"}));
  EXPECT_TRUE(layout_of(caffe::NetParameter()).empty());
}

TEST(Plots, ChartsWithoutValuesAreEmpty) {
  Chart chart;
  EXPECT_FALSE(plot_of(chart));
  chart.is_log = true;
  chart.lines.push_back({"error", "error", 0, 0, ChartLine::Look::marked, {{0, 0, 0}, {1, 0, -1}}});
  EXPECT_FALSE(plot_of(chart));
  chart.lines[0].points.push_back({2, 0, 5});
  EXPECT_NE(plot_of(chart)->picture.find("data-points=\"3\""), std::string::npos);
}

TEST(Record, ChecksumIsCastagnolis) { EXPECT_EQ(crc32c("123456789"), 0xE3069283U); }

TEST(Record, EnvironmentLeavesOutSecretsAndWhatDoesNotMatter) {
  std::vector<std::string> lines = {"OMP_NUM_THREADS=4", "SLURM_JWT=x", "HOME=/home",
                                    "FLUX_TOKEN=y",      "OMP_BROKEN",  "CUDA_VISIBLE_DEVICES="};
  std::vector<char*> environment;
  for (std::string& line : lines) environment.push_back(line.data());
  environment.push_back(nullptr);
  EXPECT_EQ(environment_that_matters(environment.data()).dump(),
            R"({"CUDA_VISIBLE_DEVICES":"","OMP_NUM_THREADS":"4"})");
}

TEST(Record, TablesLeaveCellsWithoutValuesEmpty) {
  RunTable table;
  table.names = {"a", "b,c", "d"};
  table.rows = {{0, 1.5, {{1, 0.25}}}, {7, 2, {{0, 3}, {2, 1e-7}}}};
  EXPECT_EQ(csv_text(table), "iteration,time,a,\"b,c\",d\n0,1.5,,0.25,\n7,2,3,,1e-07\n");
}
}  // namespace
}  // namespace cortado::plots_test
