#include <cmath>

#include "core/base/error.h"
#include "layers/recurrent/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::recurrent_test {
namespace {

using oracle::Recurrent;

/// Weights shrink with the width, so that states are no chaos in which rounding grows from time to time.
std::string text_of(const std::string& type, i64 outputs, const std::string& more = "") {
  const std::string size = std::to_string(1 / std::sqrt(1.0 + static_cast<double>(outputs)));
  const std::string filler = "{ type: \"uniform\" min: -" + size + " max: " + size + " } ";
  return "name: \"r\" type: \"" + type + "\" recurrent_param { num_output: " + std::to_string(outputs) +
         " weight_filler " + filler + "bias_filler " + filler + more + " }";
}

class RecurrentTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void fill_cont(LayerRig& rig) {
    rig.fill_bottom(1, [](i64 i) { return i % 4 == 1 ? 0.0f : 1.0f; });
  }
  static std::vector<Recurrent::Values> parameters(LayerRig& rig) {
    std::vector<Recurrent::Values> all;
    for (const auto& blob : rig.layer().blobs()) all.push_back(blob->data_vector());
    return all;
  }
};

const std::vector<Recurrent>& cases() {
  static const std::vector<Recurrent> all = {
      {1, 1, 1, 1}, {5, 3, 4, 6}, {3, 1, 7, 33}, {2, 17, 3, 65}, {2, 2, 1, 1500}};
  return all;
}

TEST_P(RecurrentTest, LstmIsTheOracleAndGoesOn) {
  for (const Recurrent& o : cases()) {
    SCOPED_TRACE(o.outputs);
    LayerRig rig(GetParam(), text_of("LSTM", o.outputs), {{o.times, o.sequences, o.inputs}, {o.times, o.sequences}});
    fill_cont(rig);
    Recurrent::States h(static_cast<std::size_t>(o.sequences * o.outputs)), c = h;
    for (int pass = 0; pass < 2; ++pass) {  // the second begins with the first one's states
      rig.forward();
      expect_near(rig.top(0).data_vector(),
                  o.lstm(parameters(rig), rig.bottom(0).data_vector(), rig.bottom(1).data_vector(), h, c), 1e-4f,
                  1e-4f);
    }
  }
}

TEST_P(RecurrentTest, RnnIsTheOracleAndGoesOn) {
  for (const Recurrent& o : cases()) {
    SCOPED_TRACE(o.outputs);
    LayerRig rig(GetParam(), text_of("RNN", o.outputs), {{o.times, o.sequences, o.inputs}, {o.times, o.sequences}});
    fill_cont(rig);
    Recurrent::States h(static_cast<std::size_t>(o.sequences * o.outputs));
    for (int pass = 0; pass < 2; ++pass) {
      rig.forward();
      expect_near(rig.top(0).data_vector(),
                  o.rnn(parameters(rig), rig.bottom(0).data_vector(), rig.bottom(1).data_vector(), h), 1e-5f, 1e-4f);
    }
  }
}

/// With hidden states as bottoms and tops every pass is a function of its bottoms, so differences can check all of it.
TEST_P(RecurrentTest, GradientsAreSlopes) {
  for (const bool fixed : {false, true}) {
    std::vector<Shape> shapes = {{3, 2, 2}, {3, 2}};
    if (fixed) shapes.push_back({2, 3});
    shapes.push_back({1, 2, 3});
    LayerRig rnn(GetParam(), text_of("RNN", 3, "expose_hidden: true"), shapes, 2);
    fill_cont(rnn);
    rnn.check_gradients();
    shapes.push_back({1, 2, 3});
    LayerRig lstm(GetParam(), text_of("LSTM", 3, "expose_hidden: true"), shapes, 3);
    fill_cont(lstm);
    lstm.check_gradients();
  }
}

TEST_P(RecurrentTest, LstmUnitGradientsAreSlopes) {
  LayerRig rig(GetParam(), "name: \"u\" type: \"LSTMUnit\"", {{1, 3, 5}, {1, 3, 20}, {1, 3}}, 2);
  rig.fill_bottom(2, [](i64 i) { return i == 1 ? 0.0f : 1.0f; });
  rig.check_gradients();
}

TEST_P(RecurrentTest, MistakesAreNamed) {
  EXPECT_THROW(LayerRig(GetParam(), text_of("LSTM", 0), {{3, 2, 2}, {3, 2}}), ConfigError);
  EXPECT_THROW(LayerRig(GetParam(), text_of("LSTM", 2), {{3, 2, 2}, {2, 3}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), text_of("RNN", 2), {{3, 2, 2}, {3, 2}, {3, 1}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), "name: \"u\" type: \"LSTMUnit\"", {{1, 3, 5}, {1, 3, 15}, {1, 3}}, 2), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Backends, RecurrentTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::recurrent_test
