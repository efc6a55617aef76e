// Gradients of inner products as products of narrow matrices.
#include "comm/exchange/power_sgd.h"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/exchange/packed_allreduce.h"
#include "layers/all_layers.h"
#include "layers/gemm/gemm.h"
#include "tests/support/layer_rig.h"
#include "tests/support/mpi_main.h"
#include "tests/support/shared_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::power_sgd_test {
namespace {
constexpr int columns = 33, rows = 21;

/// An inner product of 21 x 33, of which rank 3 is less, and one of 2 x 21, of which it is not.
std::string net_text() {
  return "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 33 } } }"
         "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' inner_product_param { num_output: 21 "
         "weight_filler { type: 'xavier' } } }"
         "layer { name: 'b' type: 'InnerProduct' bottom: 'a' top: 'b' inner_product_param { num_output: 2 "
         "weight_filler { type: 'xavier' } } } force_backward: true";
}

class PowerSgdTest : public ::testing::TestWithParam<std::string> {
 protected:
  static int ranks() { return job().size(); }
  PowerSgd power(i64 rank) {
    return {team_, group_, rank, [](CoreGroup& group, const MatrixLibrary::Gemm& product) {
              multiply(group, preferred_multiplier(group), product);
            }};
  }
  std::unique_ptr<Net> net() {
    NetOptions options;
    options.group = &group_;
    options.layers = &table_;
    return std::make_unique<Net>(net_of(net_text()), options);
  }
  /// The mean that comes out of these gradients of this rank.
  std::vector<float> exchanged(PowerSgd& exchange, Net& of, const std::vector<float>& own) {
    const Storage& arena = *of.gradient_arena();
    group_.copy(arena.data, own.data(), own.size() * 4);
    group_.wait();
    const float factor = exchange.finish(of);
    std::vector<float> mean(own.size());
    group_.copy(mean.data(), arena.data, mean.size() * 4);
    group_.wait();
    for (float& value : mean) value *= factor;
    return mean;
  }
  std::vector<float> mean_of(const std::vector<float>& own) const {
    std::vector<double> sums(own.begin(), own.end());
    job().replicas().sum(sums.data(), static_cast<i64>(sums.size()));
    std::vector<float> mean;
    for (const double sum : sums) mean.push_back(static_cast<float>(sum / ranks()));
    return mean;
  }
  static i64 place_of(const Net& of, const std::string& layer) {
    for (const auto& learnable : of.learnable())
      if (learnable.layer == layer && learnable.index == 0) return learnable.arena_offset;
    return -1;
  }

  CoreGroup& group_ = group_of(GetParam());
  const LayerTable table_ = all_layers();
  JobTeam team_{job().replicas().communicator(), group_};
};

TEST_P(PowerSgdTest, MatricesOfLowRankArriveWhole) {
  for (const int true_rank : {1, 2, 3}) {
    const auto made = net();
    auto exchange = power(3);
    const i64 place = place_of(*made, "a");
    std::vector<float> own = noise_vector(static_cast<std::uint64_t>(job().rank()), made->gradient_arena()->count);
    std::vector<float> left = noise_vector(50, rows * true_rank);  // the same on all ranks: their sum has the rank too
    const auto right = noise_vector(60 + static_cast<std::uint64_t>(job().rank()), true_rank * columns);
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) {
        float sum = 0;
        for (int k = 0; k < true_rank; ++k)
          sum += left[static_cast<std::size_t>(r * true_rank + k)] * right[static_cast<std::size_t>(k * columns + c)];
        own[static_cast<std::size_t>(place + r * columns + c)] = sum;
      }
    const auto mean = exchanged(exchange, *made, own);
    expect_near(mean, mean_of(own), 2e-5f, 2e-5f);
    expect_agreement(mean, "mean");
  }
}

/// What is sent and what is kept are together what was given, and smaller blobs and biases are exact.
TEST_P(PowerSgdTest, NothingIsLost) {
  const auto made = net();
  auto exchange = power(2);
  const i64 count = made->gradient_arena()->count, place = place_of(*made, "a");
  std::vector<double> given(static_cast<std::size_t>(count)), sent(given);
  std::vector<float> first;
  for (std::uint64_t round = 0; round < 6; ++round) {
    const auto own = noise_vector(100 * round + static_cast<std::uint64_t>(job().rank()), count);
    const auto due = mean_of(own), mean = exchanged(exchange, *made, own);
    expect_agreement(mean, "mean");
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool is_in_matrix = static_cast<i64>(i) >= place && static_cast<i64>(i) < place + rows * columns;
      if (ranks() == 1 || !is_in_matrix) { EXPECT_NEAR(mean[i], due[i], 1e-6f); }
      given[i] += due[i];
      sent[i] += mean[i];
    }
  }
  if (ranks() == 1) return;
  auto kept = exchange.residuals();
  ASSERT_EQ(kept.size(), static_cast<std::size_t>(rows * columns + 2 * columns)) << "one matrix, and its Q";
  kept.resize(rows * columns);
  const auto errors = mean_of(kept);
  double left_out = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto at = static_cast<std::size_t>(place) + i;
    EXPECT_NEAR(sent[at] + errors[i], given[at], 2e-5);
    left_out += std::abs(errors[i]);
  }
  EXPECT_GT(left_out, 1) << "rank 2 of noise is not all of it";
}

TEST_P(PowerSgdTest, ZerosDoNotLast) {
  const auto made = net();
  auto exchange = power(3);
  const i64 count = made->gradient_arena()->count;
  const std::vector<float> zeros(static_cast<std::size_t>(count));
  EXPECT_EQ(exchanged(exchange, *made, zeros), zeros);
  auto own = zeros;
  const i64 place = place_of(*made, "a");
  for (int i = 0; i < rows * columns; ++i)
    own[static_cast<std::size_t>(place + i)] =
        static_cast<float>(i / columns + 1) * static_cast<float>(i % columns - 9);
  expect_near(exchanged(exchange, *made, own), own, 1e-3f, 1e-4f);
}

TEST_P(PowerSgdTest, GoesOnFromResiduals) {
  const auto made = net(), other = net();
  auto straight = power(2), resumed = power(2), narrower = power(1);
  const i64 count = made->gradient_arena()->count;
  const auto own = [&](std::uint64_t round) {
    return noise_vector(100 * round + static_cast<std::uint64_t>(job().rank()), count);
  };
  for (std::uint64_t round = 0; round < 3; ++round) exchanged(straight, *made, own(round));
  const auto kept = straight.residuals();
  EXPECT_TRUE(resumed.restore_residuals(*other, kept));
  EXPECT_EQ(exchanged(resumed, *other, own(3)), exchanged(straight, *made, own(3)));
  if (ranks() > 1) { EXPECT_FALSE(narrower.restore_residuals(*other, kept)); }
}

/// Training with it goes where packed goes.
TEST_P(PowerSgdTest, LearnsWhatPackedLearns) {
  const std::string net = R"(
    layer { name: 'data' type: 'ToyData' top: 'data' top: 'label' inner_product_param { num_output: 5 }
      dummy_data_param { shape { dim: 12 dim: 3 dim: 5 dim: 5 } } }
    layer { name: 'ip1' type: 'InnerProduct' bottom: 'data' top: 'ip1'
      inner_product_param { num_output: 24 weight_filler { type: 'xavier' } } }
    layer { name: 'relu' type: 'ReLU' bottom: 'ip1' top: 'ip1' }
    layer { name: 'ip2' type: 'InnerProduct' bottom: 'ip1' top: 'ip2'
      inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip2' bottom: 'label' top: 'loss' })";
  const LayerTable layers = with_toys(all_layers());
  const auto last_loss = [&](GradientExchange& exchange) {
    auto options = toy_options(GetParam());
    options.layers = &layers;
    options.replicas = &job().replicas();
    options.exchange = &exchange;
    Solver solver(solver_of("base_lr: 0.05 lr_policy: 'fixed' momentum: 0.9 random_seed: 3", net), options);
    double sum = 0;
    for (int i = 0; i < 60; ++i) {
      solver.step(1);
      if (i >= 50) sum += solver.last_loss() / 10;
    }
    expect_agreement(parameters_of(solver.net()));
    return sum;
  };
  PackedAllreduce packed(team_, group_);
  auto narrow = power(2);
  EXPECT_NEAR(last_loss(narrow), last_loss(packed), 0.15);
}

INSTANTIATE_TEST_SUITE_P(Backends, PowerSgdTest, ::testing::ValuesIn(job_backends()), backend_name);
}  // namespace
}  // namespace cortado::test::power_sgd_test
