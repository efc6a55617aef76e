// Updates in parts, and buckets: the bits of packed with the allreduce circulant, at every number of ranks.
#include <gtest/gtest.h>

#include "comm/exchange/bucket_allreduce.h"
#include "comm/exchange/packed_allreduce.h"
#include "comm/exchange/zero1_update.h"
#include "core/base/error.h"
#include "tests/support/layer_rig.h"
#include "tests/support/mpi_main.h"
#include "tests/support/shared_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::zero1_test {
namespace {

/// Every type whose update looks at one value.
constexpr const char* types[] = {
    "type: 'SGD' momentum: 0.9 ",      "type: 'Nesterov' momentum: 0.9 ",
    "type: 'AdaGrad' delta: 0.1 ",     "type: 'RMSProp' delta: 0.1 ",
    "type: 'AdaDelta' momentum: 0.9 ", "type: 'Adam' momentum: 0.9 ",
    "type: 'AdamW' momentum: 0.9 ",    "type: 'SGD' momentum: 0.9 regularization_type: 'L1' iter_size: 2 ",
};
constexpr const char* rates = "base_lr: 0.05 lr_policy: 'fixed' weight_decay: 0.01 ";

class Zero1Test : public ::testing::TestWithParam<std::string> {
 protected:
  static int ranks() { return job().size(); }
  std::unique_ptr<Solver> solver(GradientExchange& exchange, const std::string& text, int n = 67) {
    auto options = toy_options(GetParam());
    options.replicas = &job().replicas();
    options.exchange = &exchange;
    return std::make_unique<Solver>(solver_of(rates + text, toy_net(n, 4)), options);
  }
  CoreGroup& group_ = group_of(GetParam());
  JobTeam team_{job().replicas().communicator(), group_};
  PackedAllreduce packed_{team_, group_, "circulant"};
  Zero1Update zero1_{team_, group_};
  BucketAllreduce buckets_{
      job().replicas().communicator(), group_, {}, {}, "circulant", nullptr, nullptr, {2048, 8192}};
};

TEST_P(Zero1Test, PartsMakeUpTheArenas) {
  for (const int n : {1, 67, 129, 4099}) {
    const auto made = solver(packed_, "", n);
    const i64 count = made->net().parameter_arena()->count;
    const auto own = zero1_.own_part(made->net());
    ASSERT_EQ(own.has_value(), ranks() > 1);
    if (!own) continue;
    const i64 longest = (count + 32 * ranks() - 1) / (32 * ranks()) * 32;
    EXPECT_LE(own->count, longest) << "memory of histories is divided by ranks";
    EXPECT_EQ(own->first % Net::arena_alignment, 0);
    std::vector<double> covered(static_cast<std::size_t>(count));
    std::fill_n(covered.begin() + own->first, own->count, 1.0);
    job().replicas().sum(covered.data(), count);
    EXPECT_EQ(covered, std::vector<double>(covered.size(), 1.0));
  }
}

TEST_P(Zero1Test, TrainsTheBitsOfPacked) {
  for (const std::string type : types)
    for (const int n : {1, 67, 129, 4099}) {
      SCOPED_TRACE(type + std::to_string(n));
      const auto whole = solver(packed_, type, n), parts = solver(zero1_, type, n), sent = solver(buckets_, type, n);
      for (int i = 0; i < 4; ++i) {
        whole->step(1);
        parts->step(1);
        sent->step(1);
        ASSERT_EQ(parameters_of(parts->net()), parameters_of(whole->net())) << "iteration " << i;
        ASSERT_EQ(parameters_of(sent->net()), parameters_of(whole->net())) << "buckets, iteration " << i;
        EXPECT_EQ(parts->last_loss(), whole->last_loss());
      }
    }
}

TEST_P(Zero1Test, WritesTheStateOfPackedAndGoesOnFromEither) {
  const SharedFolder folder;
  for (const std::string type : types) {
    SCOPED_TRACE(type);
    const auto named = [&](const std::string& name) {
      return type + "ema_decay: 0.5 snapshot_prefix: '" + folder.file(name) + "' ";
    };
    const auto whole = solver(packed_, named("whole")), parts = solver(zero1_, named("parts"));
    whole->step(3);
    parts->step(3);
    const std::string by_packed = whole->snapshot(), by_parts = parts->snapshot();
    caffe::SolverState expected, found;
    read_binary(by_packed, expected);
    read_binary(by_parts, found);
    ASSERT_EQ(found.history_size(), expected.history_size());
    for (int i = 0; i < found.history_size(); ++i)
      EXPECT_EQ(found.history(i).SerializeAsString(), expected.history(i).SerializeAsString()) << i;
    EXPECT_EQ(found.cortado().averaged_digest(), expected.cortado().averaged_digest());
    whole->step(3);
    const auto resumed = solver(zero1_, named("again")), swapped = solver(packed_, named("other"));
    resumed->restore(by_packed);
    swapped->restore(by_parts);
    resumed->step(3);
    swapped->step(3);
    EXPECT_EQ(parameters_of(resumed->net()), parameters_of(whole->net()));
    EXPECT_EQ(parameters_of(swapped->net()), parameters_of(whole->net()));
  }
}

/// Each rank alone takes the state of all, whatever their number.
TEST_P(Zero1Test, StatesGoOnAtAnotherNumberOfRanks) {
  const SharedFolder folder;
  const auto text = "type: 'Adam' momentum: 0.9 snapshot_prefix: '" + folder.file("toy") + "' ";
  const auto parts = solver(zero1_, text);
  parts->step(3);
  const std::string state = parts->snapshot();
  caffe::SolverState expected;
  read_binary(state, expected);
  const auto own_prefix = folder.file("alone" + std::to_string(job().rank()));
  Solver alone(solver_of(rates + ("type: 'Adam' momentum: 0.9 snapshot_prefix: '" + own_prefix + "'"), toy_net(67, 4)),
               toy_options(GetParam()));
  alone.restore(state);
  caffe::SolverState found;
  read_binary(alone.snapshot(), found);
  ASSERT_EQ(found.history_size(), expected.history_size());
  for (int i = 0; i < found.history_size(); ++i)
    EXPECT_EQ(found.history(i).SerializeAsString(), expected.history(i).SerializeAsString()) << i;
}

TEST_P(Zero1Test, RefusesWhatLooksAtAllGradients) {
  for (const char* text : {"clip_gradients: 1", "type: 'LARS'", "type: 'LAMB' momentum: 0.9", "snapshot_diff: true"}) {
    if (ranks() > 1)
      EXPECT_THROW(solver(zero1_, text), ConfigError) << text;
    else
      EXPECT_NO_THROW(solver(zero1_, text)) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Zero1Test, ::testing::ValuesIn(job_backends()), backend_name);
}  // namespace
}  // namespace cortado::test::zero1_test
