// One update after the other against Caffe's sequence of whole-array passes, written as plain loops.
#include <gtest/gtest.h>

#include <cmath>

#include "core/solver/rate.h"
#include "tests/support/layer_rig.h"
#include "tests/support/toy_solver.h"

namespace cortado::test {
namespace {
/// Caffe's SGD on one blob: weights, history and gradient as arrays.
struct Oracle {
  std::vector<float> weights, history, gradient;
  float lr_mult = 1, decay_mult = 1;
};

float norm_of(const std::vector<Oracle>& blobs) {
  double sum = 0;
  for (const Oracle& blob : blobs)
    for (const float g : blob.gradient) sum += double{g} * double{g};
  return static_cast<float>(std::sqrt(sum));
}

void update(const caffe::SolverParameter& p, i64 iteration, std::vector<Oracle>& blobs) {
  const float norm = norm_of(blobs);
  const float clip = p.clip_gradients() >= 0 && norm > p.clip_gradients() ? p.clip_gradients() / norm : 1;
  const float rate = learning_rate(p, iteration);
  for (Oracle& blob : blobs)
    for (std::size_t i = 0; i < blob.weights.size(); ++i) {
      float g = blob.gradient[i] * clip / static_cast<float>(p.iter_size());
      const float w = blob.weights[i], decay = p.weight_decay() * blob.decay_mult;
      g += decay * (p.regularization_type() == "L2" ? w : static_cast<float>((w > 0) - (w < 0)));
      blob.history[i] = rate * blob.lr_mult * g + p.momentum() * blob.history[i];
      blob.weights[i] -= blob.history[i];
    }
}

class SgdTest : public ::testing::TestWithParam<std::string> {
 protected:
  /// Trains six iterations beside the oracle, which is given the solver's own gradients (summed over iter_size).
  void compare(const std::string& options, int n, const std::string& more = "", float lr_mult = 1,
               float decay_mult = 1) {
    SCOPED_TRACE(options + ", n = " + std::to_string(n));
    const auto parameter = solver_of("base_lr: 0.05 " + options, toy_net(n, 3, more));
    Solver solver(parameter, toy_options(GetParam()));
    std::vector<Oracle> blobs(2);
    blobs[0].lr_mult = lr_mult;
    blobs[0].decay_mult = decay_mult;
    for (std::size_t i = 0; i < 2; ++i) {
      blobs[i].weights = solver.net().learnable()[i].blob->data_vector();
      blobs[i].history.resize(blobs[i].weights.size());
    }
    if (n > 2) {  // L1 decay has a case of its own for 0
      blobs[0].weights[1] = 0;
      solver.net().learnable()[0].blob->write_data(blobs[0].weights.data());
    }
    for (i64 iteration = 0; iteration < 6; ++iteration) {
      solver.step(1);
      for (std::size_t i = 0; i < 2; ++i) blobs[i].gradient = solver.net().learnable()[i].blob->diff_vector();
      update(parameter, iteration, blobs);
      for (std::size_t i = 0; i < 2; ++i)
        expect_near(solver.net().learnable()[i].blob->data_vector(), blobs[i].weights, 1e-6f, 1e-5f);
    }
  }
};

TEST_P(SgdTest, AgreesWithPlainLoops) {
  for (const int n : {1, 31, 2049}) {
    compare("lr_policy: 'fixed'", n);
    compare("lr_policy: 'inv' gamma: 0.1 power: 0.75 momentum: 0.9", n);
    compare("lr_policy: 'step' stepsize: 2 gamma: 0.5 momentum: 0.9 weight_decay: 0.1", n);
    compare("lr_policy: 'multistep' stepvalue: 1 stepvalue: 4 gamma: 0.3 weight_decay: 0.1 regularization_type: 'L1'",
            n);
    compare("lr_policy: 'fixed' clip_gradients: 0.5 momentum: 0.5", n);
    compare("lr_policy: 'fixed' clip_gradients: 1e6 momentum: 0.5", n);
    compare("lr_policy: 'exp' gamma: 0.9 iter_size: 3 clip_gradients: 0.7 weight_decay: 0.01 momentum: 0.9", n);
  }
}

TEST_P(SgdTest, HonoursMultipliers) {
  compare("lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.1", 33, "param { lr_mult: 0.5 decay_mult: 2 }", 0.5f, 2);
  compare("lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.1", 33, "param { lr_mult: 0 } param { }", 0, 1);
  compare("lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.1", 33, "param { decay_mult: 0 }", 1, 0);
}

TEST_P(SgdTest, LeavesRunningStatisticsToTheLayer) {
  const auto net = toy_net(5, 4);
  Solver solver(solver_of("base_lr: 0.5 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.5", net),
                toy_options(GetParam()));
  float expected = 0;
  for (int i = 0; i < 3; ++i) {
    solver.step(1);
    expected = 0.9f * expected + solver.net().blob("score")->data_vector()[0];
    EXPECT_EQ(solver.net().learnable()[2].blob->data_vector()[0], expected);
  }
}

TEST_P(SgdTest, MicroBatchesEqualOneBatch) {
  const std::string options = "base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.01 ";
  Solver one(solver_of(options, toy_net(37, 6)), toy_options(GetParam()));
  Solver three(solver_of(options + "iter_size: 3", toy_net(37, 2)), toy_options(GetParam()));
  one.step(5);
  three.step(5);
  EXPECT_NEAR(one.last_loss(), three.last_loss(), 1e-5);
  const auto a = parameters_of(one.net()), b = parameters_of(three.net());
  expect_near({a.begin(), a.end() - 1}, {b.begin(), b.end() - 1}, 1e-6f, 1e-5f);  // statistics see micro-batches
}

INSTANTIATE_TEST_SUITE_P(Backends, SgdTest, all_backends(), backend_name);
}  // namespace
}  // namespace cortado::test
