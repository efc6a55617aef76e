// One update after the other, by every solver type, against Caffe's sequence of whole-array passes, written as plain
// loops in double.
#include <gtest/gtest.h>

#include <cmath>

#include "core/solver/rate.h"
#include "tests/support/layer_rig.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::optimizer_test {
namespace {
/// What an update knows and changes of one blob.
struct Oracle {
  std::vector<double> weights, first, second;  // the last two are histories
  std::vector<float> gradient;
  double lr_mult = 1, decay_mult = 1;
};

template <class T>
double norm_of(const std::vector<T>& values) {
  double sum = 0;
  for (const T value : values) sum += double{value} * double{value};
  return std::sqrt(sum);
}

double clip_factor(const caffe::SolverParameter& p, const std::vector<Oracle>& blobs) {
  double squares = 0;
  for (const Oracle& blob : blobs) squares += std::pow(norm_of(blob.gradient), 2);
  const double limit = double{p.clip_gradients()}, norm = std::sqrt(squares);
  return limit >= 0 && norm > limit ? limit / norm : 1;
}

/// What a weight goes down by; g has its decay, a and b are the weight's histories.
using Rule = double (*)(const caffe::SolverParameter& p, i64 t, double rate, double g, double& a, double& b);

double sgd(const caffe::SolverParameter& p, i64 /*t*/, double rate, double g, double& a, double& /*b*/) {
  return a = rate * g + double{p.momentum()} * a;
}
double nesterov(const caffe::SolverParameter& p, i64 /*t*/, double rate, double g, double& a, double& /*b*/) {
  const double before = a, momentum = double{p.momentum()};
  a = rate * g + momentum * a;
  return (1 + momentum) * a - momentum * before;
}
double adagrad(const caffe::SolverParameter& p, i64 /*t*/, double rate, double g, double& a, double& /*b*/) {
  a += g * g;
  return rate * g / (std::sqrt(a) + double{p.delta()});
}
double rmsprop(const caffe::SolverParameter& p, i64 /*t*/, double rate, double g, double& a, double& /*b*/) {
  a = (1 - double{p.rms_decay()}) * g * g + double{p.rms_decay()} * a;
  return rate * g / (std::sqrt(a) + double{p.delta()});
}
double adadelta(const caffe::SolverParameter& p, i64 /*t*/, double rate, double g, double& a, double& b) {
  const double decay = double{p.momentum()}, delta = double{p.delta()};
  a = (1 - decay) * g * g + decay * a;
  const double change = g * std::sqrt((delta + b) / (delta + a));
  b = (1 - decay) * change * change + decay * b;
  return rate * change;
}
double adam(const caffe::SolverParameter& p, i64 t, double rate, double g, double& a, double& b) {
  const double beta1 = double{p.momentum()}, beta2 = double{p.momentum2()}, times = static_cast<double>(t + 1);
  a = (1 - beta1) * g + beta1 * a;
  b = (1 - beta2) * g * g + beta2 * b;
  const double correction = std::sqrt(1 - std::pow(beta2, times)) / (1 - std::pow(beta1, times));
  return rate * correction * a / (std::sqrt(b) + double{p.delta()});
}

/// AdamW's step without its rate, and LAMB's direction: the decay is the rule's own.
double direction(const caffe::SolverParameter& p, i64 t, double g, double decayed, double& a, double& b) {
  const double beta1 = double{p.momentum()}, beta2 = double{p.momentum2()}, times = static_cast<double>(t + 1);
  a = (1 - beta1) * g + beta1 * a;
  b = (1 - beta2) * g * g + beta2 * b;
  return a / (1 - std::pow(beta1, times)) / (std::sqrt(b / (1 - std::pow(beta2, times))) + double{p.delta()}) + decayed;
}

/// Types whose decay enters no history (null `Rule`s).
void update_decoupled(const caffe::SolverParameter& p, i64 iteration, double scale, Oracle& blob) {
  const double decay = double{p.weight_decay()} * blob.decay_mult;
  double rate = double{learning_rate(p, iteration)} * blob.lr_mult;
  std::vector<double> directions(blob.weights.size());
  for (std::size_t i = 0; i < directions.size(); ++i)
    directions[i] = direction(p, iteration, scale * double{blob.gradient[i]}, decay * blob.weights[i], blob.first[i],
                              blob.second[i]);
  const double weights = norm_of(blob.weights), all = norm_of(directions);
  if (p.type() == "LAMB" && weights > 0 && all > 0) rate *= weights / all;
  for (std::size_t i = 0; i < directions.size(); ++i) blob.weights[i] -= rate * directions[i];
}

double local_rate(const caffe::SolverParameter& p, const Oracle& blob, double scale, double decay) {
  const double weights = norm_of(blob.weights), all = scale * norm_of(blob.gradient) + decay * weights;
  return p.type() == "LARS" && weights > 0 && all > 0 ? double{p.trust_coefficient()} * weights / all : 1;
}

void update(const caffe::SolverParameter& p, Rule rule, i64 iteration, std::vector<Oracle>& blobs) {
  const double scale = clip_factor(p, blobs) / p.iter_size();
  for (Oracle& blob : blobs) {
    if (rule == nullptr) {
      update_decoupled(p, iteration, scale, blob);
      continue;
    }
    const double decay = double{p.weight_decay()} * blob.decay_mult;
    const double rate = double{learning_rate(p, iteration)} * blob.lr_mult * local_rate(p, blob, scale, decay);
    for (std::size_t i = 0; i < blob.weights.size(); ++i) {
      double& w = blob.weights[i];
      const double sign = static_cast<double>((w > 0) - (w < 0));
      const double g = scale * double{blob.gradient[i]} + decay * (p.regularization_type() == "L2" ? w : sign);
      w -= rule(p, iteration, rate, g, blob.first[i], blob.second[i]);
    }
  }
}

std::vector<float> as_floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

/// Solver types with what they cannot do without; steps are large enough to be seen.
struct Type {
  const char* text;
  Rule rule;
};
const Type types[] = {
    {"type: 'SGD' base_lr: 0.05 momentum: 0.9 ", sgd},
    {"type: 'SGD' base_lr: 0.05 ", sgd},
    {"type: 'Nesterov' base_lr: 0.05 momentum: 0.9 ", nesterov},
    {"type: 'AdaGrad' base_lr: 0.05 ", adagrad},
    {"type: 'AdaGrad' base_lr: 0.05 delta: 0.1 ", adagrad},
    {"type: 'RMSProp' base_lr: 0.05 delta: 0.1 ", rmsprop},
    {"type: 'RMSProp' base_lr: 0.05 rms_decay: 0.5 ", rmsprop},
    {"type: 'AdaDelta' base_lr: 2 momentum: 0.9 delta: 0.01 ", adadelta},
    {"type: 'AdaDelta' base_lr: 10 momentum: 0.95 delta: 1e-6 ", adadelta},
    {"type: 'Adam' base_lr: 0.05 momentum: 0.9 ", adam},
    {"type: 'Adam' base_lr: 0.05 momentum: 0.5 momentum2: 0.9 delta: 0.1 ", adam},
    {"type: 'LARS' base_lr: 2 momentum: 0.9 trust_coefficient: 0.01 ", sgd},
    {"type: 'AdamW' base_lr: 0.05 momentum: 0.9 ", nullptr},
    {"type: 'AdamW' base_lr: 0.05 momentum: 0.5 momentum2: 0.9 delta: 0.1 ", nullptr},
    {"type: 'LAMB' base_lr: 0.02 momentum: 0.9 ", nullptr},
    {"type: 'LAMB' base_lr: 0.05 momentum: 0.5 momentum2: 0.9 delta: 0.1 ", nullptr},
};

class OptimizerTest : public ::testing::TestWithParam<std::string> {
 protected:
  /// Trains six iterations beside the oracle, which is given the solver's own gradients (summed over iter_size).
  void compare(const Type& type, const std::string& options, int n, const std::string& more = "", double lr_mult = 1,
               double decay_mult = 1) {
    SCOPED_TRACE(type.text + options + ", n = " + std::to_string(n));
    const auto parameter = solver_of(type.text + options, toy_net(n, 3, more));
    Solver solver(parameter, toy_options(GetParam()));
    const auto& learnable = solver.net().learnable();
    if (n > 2) {  // L1 decay has a case of its own for 0
      auto weights = learnable[0].blob->data_vector();
      weights[1] = 0;
      learnable[0].blob->write_data(weights.data());
    }
    std::vector<Oracle> blobs(2);
    blobs[0].lr_mult = lr_mult;
    blobs[0].decay_mult = decay_mult;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto weights = learnable[i].blob->data_vector();
      blobs[i].weights.assign(weights.begin(), weights.end());
      blobs[i].first.resize(weights.size());
      blobs[i].second.resize(weights.size());
    }
    for (i64 iteration = 0; iteration < 6; ++iteration) {
      solver.step(1);
      for (std::size_t i = 0; i < 2; ++i) blobs[i].gradient = learnable[i].blob->diff_vector();
      update(parameter, type.rule, iteration, blobs);
      for (std::size_t i = 0; i < 2; ++i)
        expect_near(learnable[i].blob->data_vector(), as_floats(blobs[i].weights), 1e-6f, 1e-5f);
    }
  }
};

TEST_P(OptimizerTest, AgreesWithPlainLoops) {
  for (const Type& type : types)
    for (const int n : {1, 31, 2049}) {
      compare(type, "lr_policy: 'inv' gamma: 0.1 power: 0.75", n);
      compare(type, "lr_policy: 'step' stepsize: 2 gamma: 0.5 weight_decay: 0.1", n);
      compare(type, "lr_policy: 'exp' gamma: 0.9 iter_size: 3 clip_gradients: 0.7 weight_decay: 0.01", n);
      compare(type, "lr_policy: 'fixed' clip_gradients: 1e6 warmup_iter: 4 warmup_start_lr: 0.01", n);
      if (type.rule == nullptr || std::string(type.text).find("LARS") != std::string::npos) continue;  // L2 only
      compare(type,
              "lr_policy: 'multistep' stepvalue: 1 stepvalue: 4 gamma: 0.3 weight_decay: 0.1 "
              "regularization_type: 'L1'",
              n);
    }
}

TEST_P(OptimizerTest, HonoursMultipliers) {
  for (const Type& type : types) {
    compare(type, "lr_policy: 'fixed' weight_decay: 0.1", 33, "param { lr_mult: 0.5 decay_mult: 2 }", 0.5, 2);
    compare(type, "lr_policy: 'fixed' weight_decay: 0.1", 33, "param { lr_mult: 0 } param { }", 0, 1);
    compare(type, "lr_policy: 'fixed' weight_decay: 0.1", 33, "param { decay_mult: 0 }", 1, 0);
  }
}

/// Whatever the gradient's size, LARS moves a blob by rate * trust_coefficient of its norm; one of zeros by the rate.
TEST_P(OptimizerTest, LarsMovesBlobsByAShareOfTheirNorm) {
  for (const std::string clip : {"", " clip_gradients: 0.001"}) {
    Solver solver(
        solver_of("type: 'LARS' base_lr: 2 lr_policy: 'fixed' trust_coefficient: 0.01" + clip, toy_net(500, 3)),
        toy_options(GetParam()));
    Blob &weights = *solver.net().learnable()[0].blob, &bias = *solver.net().learnable()[1].blob;
    auto moved = weights.data_vector();
    const double norm = norm_of(moved);
    solver.step(1);
    const auto after = weights.data_vector();
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= after[i];
    EXPECT_NEAR(norm_of(moved), 2 * 0.01 * norm, 1e-4 * norm);
    if (clip.empty()) { EXPECT_FLOAT_EQ(bias.data_vector()[0], -2 * bias.diff_vector()[0]); }
  }
}

TEST_P(OptimizerTest, LeavesRunningStatisticsToTheLayer) {
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

TEST_P(OptimizerTest, MicroBatchesEqualOneBatch) {
  const std::string options = "base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.01 ";
  Solver one(solver_of(options, toy_net(37, 6)), toy_options(GetParam()));
  Solver three(solver_of(options + "iter_size: 3", toy_net(37, 2)), toy_options(GetParam()));
  one.step(5);
  three.step(5);
  EXPECT_NEAR(one.last_loss(), three.last_loss(), 1e-5);
  const auto a = parameters_of(one.net()), b = parameters_of(three.net());
  expect_near({a.begin(), a.end() - 1}, {b.begin(), b.end() - 1}, 1e-6f, 1e-5f);  // statistics see micro-batches
}

INSTANTIATE_TEST_SUITE_P(Backends, OptimizerTest, all_backends(), backend_name);
}  // namespace
}  // namespace cortado::test::optimizer_test
