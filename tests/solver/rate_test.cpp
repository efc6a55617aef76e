#include "core/solver/rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"

namespace cortado::rate_test {
namespace {
caffe::SolverParameter parameter_of(const std::string& text) {
  caffe::SolverParameter parameter;
  parse_text(text, "solver", parameter);
  return parameter;
}

struct Case {
  std::string text;
  std::function<double(double)> formula;
};

TEST(Rate, FollowsTheFormulas) {
  const Case cases[] = {
      {"lr_policy: 'fixed'", [](double) { return 0.01; }},
      {"lr_policy: 'step' gamma: 0.5 stepsize: 7", [](double i) { return 0.01 * std::pow(0.5, std::floor(i / 7)); }},
      {"lr_policy: 'exp' gamma: 0.99", [](double i) { return 0.01 * std::pow(0.99, i); }},
      {"lr_policy: 'inv' gamma: 0.0001 power: 0.75", [](double i) { return 0.01 * std::pow(1 + 1e-4 * i, -0.75); }},
      {"lr_policy: 'multistep' gamma: 0.1 stepvalue: 3 stepvalue: 10 stepvalue: 1000",
       [](double i) { return 0.01 * std::pow(0.1, (i >= 3) + (i >= 10) + (i >= 1000)); }},
      {"lr_policy: 'multistep' gamma: 0.1", [](double) { return 0.01; }},
      {"lr_policy: 'poly' power: 2 max_iter: 2000", [](double i) { return 0.01 * std::pow(1 - i / 2000, 2); }},
      {"lr_policy: 'sigmoid' gamma: 0.02 stepsize: 500",
       [](double i) { return 0.01 / (1 + std::exp(-0.02 * (i - 500))); }},
      {"lr_policy: 'cosine' max_iter: 1000",
       [](double i) { return 0.005 * (1 + std::cos(std::min(i, 1000.0) / 1000 * std::acos(-1))); }},
      {"lr_policy: 'cosine' max_iter: 7 stepsize: 500 final_lr: 0.002",
       [](double i) { return 0.002 + 0.004 * (1 + std::cos(std::fmod(i, 500) / 500 * std::acos(-1))); }},
  };
  for (const Case& c : cases) {
    const auto parameter = parameter_of("base_lr: 0.01 " + c.text);
    check_rate(parameter);
    for (const i64 i : {0, 1, 2, 3, 6, 7, 8, 10, 13, 14, 499, 500, 999, 1000, 1999, 2000})
      EXPECT_NEAR(learning_rate(parameter, i), c.formula(static_cast<double>(i)), 1e-8) << c.text << " at " << i;
  }
}

TEST(Rate, PolyStaysZeroBeyondTheEnd) {
  const auto parameter = parameter_of("base_lr: 1 lr_policy: 'poly' power: 0.5 max_iter: 10");
  EXPECT_EQ(learning_rate(parameter, 11), 0);
}

TEST(Rate, CosineBeginsAfterTheWarmUp) {
  const auto parameter =
      parameter_of("base_lr: 0.4 lr_policy: 'cosine' final_lr: 0.1 max_iter: 105 warmup_iter: 5 warmup_start_lr: 0.2");
  check_rate(parameter);
  EXPECT_FLOAT_EQ(learning_rate(parameter, 0), 0.2f);
  EXPECT_FLOAT_EQ(learning_rate(parameter, 5), 0.4f);
  EXPECT_FLOAT_EQ(learning_rate(parameter, 55), 0.25f);
  EXPECT_FLOAT_EQ(learning_rate(parameter, 105), 0.1f);
}

TEST(Rate, CountsSteps) {
  const auto step = parameter_of("base_lr: 1 lr_policy: 'step' gamma: 0.1 stepsize: 5");
  EXPECT_EQ(rate_step(step, 4), 0);
  EXPECT_EQ(rate_step(step, 10), 2);
  const auto multistep = parameter_of("base_lr: 1 lr_policy: 'multistep' gamma: 0.1 stepvalue: 5 stepvalue: 6");
  EXPECT_EQ(rate_step(multistep, 4), 0);
  EXPECT_EQ(rate_step(multistep, 5), 1);
  EXPECT_EQ(rate_step(multistep, 100), 2);
}

TEST(Rate, WarmsUpToThePolicysRate) {
  const auto parameter = parameter_of(
      "base_lr: 0.4 lr_policy: 'multistep' gamma: 0.5 stepvalue: 3 stepvalue: 9 warmup_iter: 5 warmup_start_lr: 0.1");
  check_rate(parameter);
  for (const i64 i : {0, 1, 2, 3, 4, 5}) EXPECT_FLOAT_EQ(learning_rate(parameter, i), 0.1f + 0.02f * i) << i;
  EXPECT_FLOAT_EQ(learning_rate(parameter, 8), 0.2f);
  EXPECT_FLOAT_EQ(learning_rate(parameter, 9), 0.1f);
  EXPECT_EQ(learning_rate(parameter_of("base_lr: 1 lr_policy: 'fixed' warmup_iter: 1"), 0), 0) << "from 0 by default";
}

TEST(Rate, RefusesWhatCannotBe) {
  const char* wrong[] = {"",
                         "lr_policy: 'stairs'",
                         "lr_policy: 'step' gamma: 0.1",
                         "lr_policy: 'step' stepsize: 3 gamma: -1",
                         "lr_policy: 'sigmoid' gamma: 1",
                         "lr_policy: 'exp' gamma: -0.1",
                         "lr_policy: 'poly' power: 1",
                         "lr_policy: 'cosine'",
                         "lr_policy: 'cosine' max_iter: 5 warmup_iter: 5",
                         "lr_policy: 'cosine' max_iter: 5 final_lr: -1",
                         "lr_policy: 'fixed' warmup_iter: -1",
                         "lr_policy: 'fixed' warmup_start_lr: -0.1"};
  for (const char* text : wrong) EXPECT_THROW(check_rate(parameter_of(text)), ConfigError) << text;
}
}  // namespace
}  // namespace cortado::rate_test
