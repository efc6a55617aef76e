// Strategies of gradient exchange, at every rank count of the suite: means, agreement in every bit, and training.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "backends/reference/processor.h"
#include "comm/exchange/bucket_allreduce.h"
#include "comm/exchange/coded_allreduce.h"
#include "comm/exchange/packed_allreduce.h"
#include "core/base/error.h"
#include "core/solver/core_groups.h"
#include "layers/all_layers.h"
#include "programs/reference_all_programs.h"
#include "tests/support/layer_rig.h"
#include "tests/support/mpi_main.h"
#include "tests/support/shared_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::exchange_test {
namespace {

class ExchangeTest : public ::testing::TestWithParam<std::string> {
 protected:
  static int ranks() { return job().size(); }
  std::unique_ptr<CodedAllreduce> coded(const std::string& codec, CodedAllreduce::Way way) {
    return std::make_unique<CodedAllreduce>(team_, group_, find_codec(codec), way);
  }
  /// Small nets have several such buckets.
  static constexpr BucketSizes small{2048, 8192};
  std::unique_ptr<BucketAllreduce> buckets(const std::string& algorithm = "auto", Timeline* timeline = nullptr,
                                           const Codec* codec = nullptr, const BucketSizes& sizes = small) {
    return std::make_unique<BucketAllreduce>(job().replicas().communicator(), group_, TopologyOptions(),
                                             std::vector<CollectiveRule>(), algorithm, timeline, codec, sizes);
  }
  /// The exchanges that send codes.
  enum class Coded { once, hops, buckets };
  std::vector<Coded> ways() const {
    if (!group_.make_helper()) return {Coded::once, Coded::hops};
    return {Coded::once, Coded::hops, Coded::buckets};
  }
  std::unique_ptr<GradientExchange> coded(const std::string& codec, Coded way) {
    if (way == Coded::buckets) return buckets("auto", nullptr, &find_codec(codec));
    return coded(codec, way == Coded::once ? CodedAllreduce::Way::once : CodedAllreduce::Way::hops);
  }
  /// Sets this rank's gradients, exchanges, and gives the mean that came out.
  std::vector<float> exchanged(GradientExchange& exchange, Net& net, std::uint64_t round = 0) {
    const Storage& arena = *net.gradient_arena();
    const auto own = gradients(job().rank(), arena.count, round);
    group_.copy(arena.data, own.data(), own.size() * 4);
    group_.wait();
    for (std::size_t i = net.layers().size(); i-- > 0;) exchange.layer_finished(net, i);
    const float factor = exchange.finish(net);
    std::vector<float> mean(own.size());
    group_.copy(mean.data(), arena.data, mean.size() * 4);
    group_.wait();
    for (float& value : mean) value *= factor;
    return mean;
  }
  std::unique_ptr<Net> net(const std::string& text) {
    NetOptions options;
    options.group = &group_;
    options.layers = &table_;
    return std::make_unique<Net>(net_of(text), options);
  }
  static std::vector<float> gradients(int rank, i64 count, std::uint64_t round) {
    return noise_vector(100 * round + static_cast<std::uint64_t>(rank), count);
  }
  std::vector<float> due_mean(i64 count, std::uint64_t round = 0) const {
    std::vector<float> mean(static_cast<std::size_t>(count));
    for (int r = 0; r < ranks(); ++r) {
      const auto part = gradients(r, count, round);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += part[i] / static_cast<float>(ranks());
    }
    return mean;
  }
  std::unique_ptr<Solver> solver(GradientExchange* exchange, int batch, const std::string& more = "") {
    auto options = toy_options(GetParam());
    if (exchange != nullptr) {
      options.replicas = &job().replicas();
      options.exchange = exchange;
    }
    return std::make_unique<Solver>(
        solver_of("base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 " + more, toy_net(67, batch)), options);
  }

  CoreGroup& group_ = group_of(GetParam());
  const LayerTable table_ = all_layers();
  JobTeam team_{job().replicas().communicator(), group_};
};

/// Nets with few and with many parameters: some parts of the arena are empty, some hold several blocks.
std::vector<std::string> nets() {
  const auto net = [](int outputs) {
    return "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 9 } } }"
           "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' inner_product_param { num_output: " +
           std::to_string(outputs) +
           " weight_filler { type: 'xavier' } } }"
           "layer { name: 'b' type: 'InnerProduct' bottom: 'a' top: 'b' inner_product_param { num_output: 31 "
           "weight_filler { type: 'xavier' } } } force_backward: true";
  };
  return {net(2), net(123), net(501)};
}

TEST_P(ExchangeTest, MeansAreRightAndTheSameEverywhere) {
  PackedAllreduce packed(team_, group_);
  const auto by_model = buckets(), by_ring = buckets("ring");
  const auto once = coded("fp32", CodedAllreduce::Way::once), around = coded("fp32", CodedAllreduce::Way::hops);
  std::vector<std::unique_ptr<Net>> made;
  for (const auto& text : nets()) made.push_back(net(text));
  for (const auto& of : made)
    for (GradientExchange* const exchange :
         {static_cast<GradientExchange*>(&packed), static_cast<GradientExchange*>(by_model.get()),
          static_cast<GradientExchange*>(by_ring.get()), static_cast<GradientExchange*>(once.get()),
          static_cast<GradientExchange*>(around.get())}) {
      const auto mean = exchanged(*exchange, *of);
      expect_near(mean, due_mean(of->gradient_arena()->count), 1e-6f, 1e-5f);
      expect_agreement(mean, "mean");
    }
}

TEST_P(ExchangeTest, CodesErrAsTheirTypesDo) {
  const auto made = net(nets()[1]);
  const auto due = due_mean(made->gradient_arena()->count);
  const struct {
    const char* codec;
    float error;  // of one coding, where values are below one
  } types[] = {{"bf16", 0.004f},        {"fp16", 0.0005f},    {"dynamic_tree8", 0.008f}, {"linear8", 0.004f},
               {"static_tree8", 0.03f}, {"mantissa8", 0.06f}, {"e4m3", 0.07f},           {"e5m2", 0.14f}};
  for (const auto& type : types)
    for (const Coded way : ways()) {
      const auto exchange = coded(type.codec, way);
      for (std::uint64_t round = 0; round < 2; ++round) {
        const auto mean = exchanged(*exchange, *made);
        expect_agreement(mean, type.codec);
        // Every coding errs by its share of the largest value, which grows with the sum.
        const float codings = ranks() == 1 ? 0 : way == Coded::hops ? static_cast<float>(ranks()) : 2;
        const float grows =
            std::string(type.codec) == "static_tree8" || std::string(type.codec) == "mantissa8" ? 10 : 1;
        expect_near(mean, due, 1e-6f + codings * grows * type.error, 1e-5f);
      }
    }
}

/// What takes many exchanges, on one backend.
class LongExchangeTest : public ExchangeTest {};

TEST_P(LongExchangeTest, WhatCodesLeaveOutComesLater) {
  const auto made = net(nets()[1]);
  const i64 count = made->gradient_arena()->count;
  const auto due = due_mean(count);
  for (const char* codec : {"one_bit", "threshold"})
    for (const Coded way : ways()) {
      const auto exchange = coded(codec, way);
      std::vector<float> sum(static_cast<std::size_t>(count));
      constexpr int rounds = 20;
      for (int round = 0; round < rounds; ++round) {
        const auto mean = exchanged(*exchange, *made);
        expect_agreement(mean, codec);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += mean[i] / rounds;
      }
      double error = 0;
      for (std::size_t i = 0; i < sum.size(); ++i) error += std::abs(sum[i] - due[i]);
      EXPECT_LT(error / static_cast<double>(count), 0.12) << codec;  // 0.3 where what is left out is lost
    }
}

TEST_P(ExchangeTest, TrainsAsOneRankWithTheWholeBatch) {
  const auto alone = solver(nullptr, 60);
  const auto bucketed = buckets(), late = buckets("circulant");
  const auto exact = coded("fp32", CodedAllreduce::Way::once);
  for (GradientExchange* exchange :
       {static_cast<GradientExchange*>(bucketed.get()), static_cast<GradientExchange*>(late.get()),
        static_cast<GradientExchange*>(exact.get())}) {
    const auto expected = solver(nullptr, 60), together = solver(exchange, 60 / ranks());
    for (int i = 0; i < 5; ++i) {
      expected->step(1);
      together->step(1);
      EXPECT_NEAR(together->last_loss(), expected->last_loss(), 1e-5);
    }
    auto weights = parameters_of(together->net());
    weights.pop_back();  // the running statistic, which ranks average before tests only
    expect_agreement(weights, "weights");
  }
  EXPECT_GE(bucketed->buckets(), ranks() > 1 ? 5 : 0);
}

/// The numbers of buckets, which count from the last layer, in the order in which they were sent.
std::vector<int> order_of(const Timeline& timeline) {
  std::vector<int> order;
  for (const Timeline::Event& event : timeline.events())
    if (event.kind == "bucket") order.push_back(std::stoi(event.name));
  return order;
}

TEST_P(LongExchangeTest, WhatTheNextForwardNeedsFirstGoesFirst) {
  std::string text = "layer { name: 'in' type: 'Input' top: '0' input_param { shape { dim: 1 dim: 1000 } } }";
  for (int i = 0; i < 4; ++i)
    text += "layer { name: 'ip" + std::to_string(i) + "' type: 'InnerProduct' bottom: '" + std::to_string(i) +
            "' top: '" + std::to_string(i + 1) + "' inner_product_param { num_output: 1000 } } ";
  const auto made = net(text + "force_backward: true");
  made->clear_gradients();
  Timeline timeline;
  const auto exchange = buckets("auto", &timeline, nullptr, {});
  // Rank 0 has queued all before the others have any: it finds all but the first bucket waiting.
  if (job().rank() != 0) MPI_Barrier(job().replicas().communicator());
  for (std::size_t i = made->layers().size(); i-- > 0;) exchange->layer_finished(*made, i);
  exchange->start(*made);
  if (job().rank() == 0) MPI_Barrier(job().replicas().communicator());
  exchange->wait_for(*made, 0, made->gradient_arena()->count);
  auto order = order_of(timeline);
  ASSERT_EQ(order.size(), static_cast<std::size_t>(exchange->buckets()));
  ASSERT_GE(order.size(), ranks() > 1 ? 4U : 0U) << "layers of 4 MB wait for no other";
  if (ranks() > 1) {
    EXPECT_TRUE(std::is_sorted(order.rbegin(), order.rend() - 1)) << "the last first, after one that nothing preceded";
  }
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int>(i));
}

/// A net of several layers, two of which share their weights, on so many samples.
std::string deep_net(int batch) {
  const auto inner = [](const std::string& name, const std::string& bottom, int outputs) {
    const std::string shared = outputs == 32 ? "param { name: 'shared' } param { name: 'bias' } " : "";
    return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + name + "' " + shared +
           "inner_product_param { num_output: " + std::to_string(outputs) + " weight_filler { type: 'xavier' } } } ";
  };
  return "name: 'deep' layer { name: 'data' type: 'ToyData' top: 'x' top: 'label' inner_product_param { num_output: 5 "
         "} "
         "dummy_data_param { shape { dim: " +
         std::to_string(batch) + " dim: 32 } } } " + inner("a", "x", 32) +
         "layer { name: 'relu' type: 'ReLU' bottom: 'a' top: 'a' } " + inner("b", "a", 32) + inner("c", "b", 300) +
         inner("d", "c", 5) + "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'd' bottom: 'label' top: 'loss' }";
}

TEST_P(LongExchangeTest, UpdatesThatGoOnInTheNextForwardAreTheSame) {
  static const LayerTable layers = with_toys(all_layers());
  for (const std::string more : {"", "iter_size: 2 type: 'Adam' ", "clip_gradients: 0.3 "}) {
    SCOPED_TRACE(more);
    const SharedFolder folder;
    PackedAllreduce packed(team_, group_, "circulant");
    const auto bucketed = buckets("circulant"), resumed = buckets("circulant");
    const auto solver = [&](GradientExchange& exchange, const std::string& name) {
      auto options = toy_options(GetParam());
      options.layers = &layers;
      options.replicas = &job().replicas();
      options.exchange = &exchange;
      return std::make_unique<Solver>(
          solver_of("base_lr: 0.01 lr_policy: 'fixed' momentum: 0.9 snapshot: 4 snapshot_diff: true test_interval: 3 "
                    "test_iter: 2 snapshot_prefix: '" +
                        folder.file(name) + "' " + more,
                    deep_net(60 / ranks())),
          options);
    };
    const auto expected = solver(packed, "packed"), made = solver(*bucketed, "bucketed");
    expected->step(6);
    made->step(6);
    const auto weights = parameters_of(made->net());
    EXPECT_EQ(weights, parameters_of(expected->net()));
    EXPECT_NEAR(made->last_loss(), expected->last_loss(), 1e-5);
    EXPECT_NEAR(made->scores()[0][0].value, expected->scores()[0][0].value, 1e-5);
    const auto again = solver(*resumed, "again");
    again->restore(folder.file("bucketed_iter_4.solverstate"));
    again->step(2);
    EXPECT_EQ(parameters_of(again->net()), weights);
  }
}

TEST_P(LongExchangeTest, ALossFallsWithEveryCodec) {
  for (const Codec* const codec : codecs()) {
    if (std::isfinite(codec->limit())) continue;
    const auto exchange = coded(codec->name(), CodedAllreduce::Way::once);
    const auto exact = solver(exchange.get(), 60 / ranks()), packed = solver(nullptr, 60);
    for (int i = 0; i < 10; ++i) {
      exact->step(1);
      packed->step(1);
    }
    EXPECT_NEAR(exact->last_loss(), packed->last_loss(), 0.2 * packed->last_loss() + 0.05) << codec->name();
  }
}

TEST_P(LongExchangeTest, SnapshotsHoldWhatCodesLeftOut) {
  for (const char* codec : {"one_bit", "linear8"})
    for (const Coded way : ways()) {
      const SharedFolder folder;
      const std::string prefix = "snapshot_prefix: '" + folder.file("toy") + "'";
      const auto exchange = coded(codec, way), then = coded(codec, way), lost = coded(codec, way);
      const auto straight = solver(exchange.get(), 60 / ranks(), prefix);
      straight->step(3);
      const std::string state = straight->snapshot();
      straight->step(2);
      const auto goes_on = [&](GradientExchange& again) {
        const auto resumed = solver(&again, 60 / ranks(), prefix);
        resumed->restore(state);
        resumed->step(2);
        return parameters_of(resumed->net()) == parameters_of(straight->net());
      };
      EXPECT_TRUE(goes_on(*then)) << codec;
      const std::string own = state + ".residuals." + std::to_string(job().rank());
      const bool kept = find_codec(codec).needs_state() && ranks() > 1;
      EXPECT_EQ(std::filesystem::remove(own), kept);
      EXPECT_EQ(goes_on(*lost), !kept) << codec << ": without what was left out it goes on in another way";
    }
}

/// What codes left out of some buckets says nothing of others, nor of another exchange.
TEST_P(LongExchangeTest, OtherBucketsTakeNoResiduals) {
  if (ranks() == 1 || !group_.make_helper()) return;
  const auto made = net(nets()[2]);
  const auto with = [&](const BucketSizes& sizes) { return buckets("auto", nullptr, &find_codec("one_bit"), sizes); };
  const auto one = with(small), same = with(small), other = with({4096, 4096});
  const auto once = coded("one_bit", CodedAllreduce::Way::once);
  exchanged(*one, *made);
  const auto kept = one->residuals();
  EXPECT_GT(kept.size(), static_cast<std::size_t>(made->gradient_arena()->count));
  EXPECT_TRUE(same->restore_residuals(*made, kept));
  EXPECT_EQ(same->residuals(), kept);
  EXPECT_FALSE(other->restore_residuals(*made, kept));
  EXPECT_FALSE(once->restore_residuals(*made, kept));
  EXPECT_FALSE(one->restore_residuals(*made, {}));
  EXPECT_EQ(one->residuals(), kept);
}

TEST_P(ExchangeTest, WhatCannotRunSaysSo) {
  EXPECT_THROW(buckets("rings"), ConfigError);
  for (const Coded way : ways()) EXPECT_THROW(coded("three_in_one", way), ConfigError);
}

/// Two core groups in each process.
class ExchangeOfCoreGroups : public ::testing::Test {
 protected:
  ExchangeOfCoreGroups() {
    reference::Options with;
    with.core_groups = 2;
    processor_ = reference::make_processor(with, reference::all_programs());
  }
  CoreGroup& first() { return processor_->group(0); }
  std::unique_ptr<BucketAllreduce> buckets(const Codec* codec = nullptr) {
    return std::make_unique<BucketAllreduce>(job().replicas().communicator(), first(), TopologyOptions(),
                                             std::vector<CollectiveRule>(), "circulant", nullptr, codec,
                                             BucketSizes{2048, 8192});
  }
  /// Weights of core group 0 after so many iterations, from a state if one is named.
  std::vector<float> train(GradientExchange& exchange, int iterations, const std::string& from = "",
                           bool host_sums = false) {
    static const LayerTable layers = with_toys(all_layers());
    auto options = toy_options();
    options.layers = &layers;
    options.group = &first();
    options.replicas = &job().replicas();
    options.exchange = &exchange;
    options.host_sums = host_sums;
    std::vector<float> weights;
    train_on_core_groups(*processor_, options, [&](const SolverOptions& own) {
      Solver solver(solver_of("base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 snapshot: 3 snapshot_prefix: '" +
                                  folder_.file("toy") + "' ",
                              deep_net(4)),
                    own);
      if (!from.empty()) solver.restore(from);
      solver.step(iterations);
      if (own.group->index() == 0) weights = parameters_of(solver.net());
    });
    return weights;
  }

  const SharedFolder folder_;
  std::unique_ptr<Processor> processor_;
};

/// Core group 0 of a process codes for all of them, and so keeps what its codes left out.
TEST_F(ExchangeOfCoreGroups, SnapshotsHoldWhatCodesLeftOut) {
  JobTeam team(job().replicas().communicator(), first());
  const auto make = [&](bool in_buckets) -> std::unique_ptr<GradientExchange> {
    if (in_buckets) return buckets(&find_codec("one_bit"));
    return std::make_unique<CodedAllreduce>(team, first(), find_codec("one_bit"), CodedAllreduce::Way::once);
  };
  for (const bool in_buckets : {false, true}) {
    const auto straight = train(*make(in_buckets), 5);
    const std::string state = folder_.file("toy_iter_3.solverstate");
    EXPECT_EQ(std::filesystem::exists(state + ".residuals." + std::to_string(2 * job().rank())), job().size() > 1);
    EXPECT_EQ(train(*make(in_buckets), 2, state), straight);
  }
}

/// Sums of core groups that go on to other processes while backward goes on are those that go on after it.
TEST_F(ExchangeOfCoreGroups, BucketsAreSumsOfAll) {
  JobTeam team(job().replicas().communicator(), first());
  PackedAllreduce packed(team, first(), "circulant");
  const auto expected = train(packed, 4);
  const auto sent = buckets();
  EXPECT_EQ(train(*sent, 4), expected);
  EXPECT_EQ(train(*sent, 4, "", true), expected);
  EXPECT_GE(sent->buckets(), job().size() > 1 ? 16 : 0) << "two a net at least";
}

TEST_P(LongExchangeTest, SnapshotsWithoutResidualsLeaveNoOldOnes) {
  const SharedFolder folder;
  const std::string prefix = "snapshot_prefix: '" + folder.file("toy") + "'";
  const auto one_bit = coded("one_bit", CodedAllreduce::Way::once), exact = coded("fp32", CodedAllreduce::Way::once);
  std::string own;
  for (GradientExchange* const exchange : {one_bit.get(), exact.get()}) {
    const auto trained = solver(exchange, 60 / ranks(), prefix);
    trained->step(2);
    own = trained->snapshot() + ".residuals." + std::to_string(job().rank());
    EXPECT_EQ(std::filesystem::exists(own), exchange == one_bit.get() && ranks() > 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ExchangeTest, ::testing::ValuesIn(job_backends(3)), backend_name);
std::vector<std::string> long_backends() {
  std::vector<std::string> names{backend_names().back()};
  if (job().size() == 2 && configured("backend").empty()) names.emplace_back("late");
  return names;
}
INSTANTIATE_TEST_SUITE_P(Backends, LongExchangeTest, ::testing::ValuesIn(long_backends()), backend_name);

}  // namespace
}  // namespace cortado::test::exchange_test
