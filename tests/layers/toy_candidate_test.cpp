// A candidate is a folder and a row of the table: nothing else knows of the toy, and a layer chooses, explains and runs
// it.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "layers/convolution/oracle.h"
#include "tests/layers/toy_candidate/toy.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::toy_candidate_test {
namespace {

class ToyCandidateTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    const auto& all = convolution_candidates();
    if (std::none_of(all.begin(), all.end(), [](const auto& row) { return row.name == "toy"; }))
      add_convolution_candidate(toy_row());
  }
  static std::string layer(const std::string& group) {
    return "name: 'c' type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 stride: 2 pad: 1 "
           "bias_term: false weight_filler { type: 'uniform' min: -1 max: 1 } group: " +
           group + " }";
  }
};

TEST_P(ToyCandidateTest, RunsWhereALayerIsToldTo) {
  LayerRig rig(GetParam(), layer("1"), {{3, 2, 7, 9}});
  rig.layer().choose_plans({{"forward", "toy"}});
  rig.forward();
  EXPECT_EQ(rig.layer().plans().at("forward"), "toy");
  ConvolutionShape s;
  s.mb = 3, s.ic = 2, s.ih = 7, s.iw = 9, s.oc = 4, s.oh = 4, s.ow = 5;
  s.kh = s.kw = 3, s.sh = s.sw = 2, s.ph = s.pw = 1;
  expect_near(rig.top(0).data_vector(),
              oracle::convolution_forward(s, rig.bottom(0).data_vector(), rig.blob(0).data_vector(), {}), 1e-5F, 1e-4F);
}

TEST_P(ToyCandidateTest, IsAnOptionAndSaysWhyNot) {
  LayerRig rig(GetParam(), layer("2"), {{3, 2, 7, 9}});
  rig.forward();
  EXPECT_NE(rig.layer().plans().at("forward"), "toy") << "the first that pays stands before it";
  const auto reasons = rig.layer().refusals();
  const auto says = [&](const std::string& direction, const std::string& reason) {
    return std::any_of(reasons.begin(), reasons.end(), [&](const std::string& line) {
      return line.find(direction + " ") == 0 && line.find("toy cannot run: is a toy: " + reason) != std::string::npos;
    });
  };
  EXPECT_TRUE(says("forward", "it takes one group"));
  EXPECT_TRUE(says("weight_gradient", "it goes forward"));
  rig.layer().choose_plans({{"forward", "toy"}});
  try {
    rig.forward();
    FAIL() << "runs what refuses";
  } catch (const PlanError& error) {
    EXPECT_NE(std::string(error.what()).find("toy: is a toy: it takes one group"), std::string::npos) << error.what();
  }
}

/// Its first rows are the table's, and it has no row of a candidate that is not in the table.
TEST(CandidateTable, IsTheOneInTheDocs) {
  std::ifstream file("docs/use/tuning.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::string rows;
  for (const auto& row : convolution_candidates())
    if (row.name != "toy") rows += "| `" + row.name + "` | " + row.what + " |\n";
  EXPECT_NE(page.find("|---|---|\n" + rows + "| `library`, `tile_program` |"), std::string::npos)
      << "docs/use/tuning.md should have these rows:\n"
      << rows;
}

INSTANTIATE_TEST_SUITE_P(Backends, ToyCandidateTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::toy_candidate_test
