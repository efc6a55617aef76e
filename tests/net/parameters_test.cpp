#include "tests/net/small_net.h"

namespace cortado::test::parameters_test {
namespace {
std::string chain(const std::string& a, const std::string& b, int factors_b = 33) {
  return data_layer() + scale_layer("a", "data", "x", a, 2, 33) + scale_layer("b", "x", "y", b, 3, factors_b) +
         loss_layer("y");
}

TEST(NetArena, LastLayerFirstAlignedAndFilled) {
  const auto net = small_net(chain("", "", 5));
  ASSERT_EQ(net->learnable().size(), 2u);
  const auto &a = net->learnable()[0], &b = net->learnable()[1];
  EXPECT_EQ(a.layer, "a");
  EXPECT_EQ(b.arena_offset, 0);
  EXPECT_EQ(a.arena_offset, Net::arena_alignment);
  ASSERT_EQ(net->parameter_arena()->count, Net::arena_alignment + 2 * Net::arena_alignment);
  EXPECT_EQ(a.blob->data(), net->parameter_arena()->data + a.arena_offset);
  EXPECT_EQ(a.blob->data_vector(), std::vector<float>(33, 2));
  EXPECT_EQ(b.blob->data_vector(), std::vector<float>(5, 3));
  ASSERT_EQ(net->gradient_arena()->count, net->parameter_arena()->count);
  EXPECT_EQ(a.blob->diff(), net->gradient_arena()->data + a.arena_offset);
}

TEST(NetArena, GapsStayZero) {
  const auto net = small_net(chain("", "", 5));
  net->blob("data")->write_data(std::vector<float>(6, 1).data());
  net->forward();
  net->backward();
  const auto expect_gap_zero = [&](const Storage& arena) {
    std::vector<float> all(static_cast<std::size_t>(arena.count));
    group_of("reference").copy(all.data(), arena.data, all.size() * sizeof(float));
    group_of("reference").wait();
    EXPECT_NE(all[4], 0);
    for (std::size_t i = 5; i < static_cast<std::size_t>(Net::arena_alignment); ++i) EXPECT_EQ(all[i], 0) << i;
  };
  expect_gap_zero(*net->parameter_arena());
  expect_gap_zero(*net->gradient_arena());
}

/// Also those that no layer makes, and those of layers that do not know that they could be set.
TEST(NetArena, ClearedGradientsLieThereAfterBackward) {
  const auto net = small_net(data_layer() + scale_layer("a", "data", "x", "", 2, 33) +
                             "layer { name: 's' type: 'Statistic' bottom: 'x' top: 'y' }" +
                             scale_layer("b", "y", "z", "", 3) + loss_layer("z"));
  Storage& arena = *net->gradient_arena();
  std::vector<float> all(static_cast<std::size_t>(arena.count), 7);
  CoreGroup& group = group_of("reference");
  group.copy(arena.data, all.data(), all.size() * sizeof(float));
  net->blob("data")->write_data(std::vector<float>(6, 1).data());
  net->clear_gradients();
  net->forward();
  net->backward();
  group.copy(all.data(), arena.data, all.size() * sizeof(float));
  group.wait();
  const auto at = [&](std::size_t i, i64 element) {
    return all[static_cast<std::size_t>(net->learnable()[i].arena_offset + element)];
  };
  EXPECT_EQ(at(0, 0), 18) << "six ones, three times";
  for (i64 i = 33; i < 64; ++i) EXPECT_EQ(at(0, i), 0) << "a gap";
  for (i64 i = 0; i < Net::arena_alignment; ++i) EXPECT_EQ(at(1, i), 0) << "the statistic's, and a gap";
  EXPECT_EQ(at(2, 0), 6 * 66);
}

TEST(ClearedGradients, AreSetOnceOrReadAsZeros) {
  CoreGroup& group = group_of("reference");
  Blob one(group, {3}), other(group, {3});
  other.share_diff(one);
  const std::vector<float> some = {4, 5, 6};
  one.write_diff(some.data());
  EXPECT_FALSE(one.sum_diff().sets) << "there is something to add to";
  one.clear_diff();
  const Blob::Sum sum = other.sum_diff();
  EXPECT_TRUE(sum.sets);
  group.copy(sum.to, some.data(), some.size() * sizeof(float));
  EXPECT_FALSE(one.sum_diff().sets) << "the sharer has set it";
  EXPECT_EQ(one.diff_vector(), some);
  other.clear_diff();
  EXPECT_EQ(one.diff_vector(), std::vector<float>(3, 0));
  EXPECT_FALSE(other.sum_diff().sets);
  const auto memory = Storage::make(group, 5);
  one.place_diff(memory);
  group.copy(memory->data + 2, some.data(), some.size() * sizeof(float));
  one.clear_diff();
  EXPECT_TRUE(one.sum_diff().sets);
  EXPECT_EQ(memory->data[3], 0) << "what lies behind the blob is nobody else's to clear";
  EXPECT_EQ(memory->data[4], 0);
}

TEST(NetArena, MultipliersComeFromParam) {
  const auto net = small_net(chain("param { lr_mult: 2 decay_mult: 0 }", "") +
                             "layer { name: 's' type: 'Statistic' bottom: 'data' top: 'd' param { lr_mult: 1 } }");
  ASSERT_EQ(net->learnable().size(), 3u);
  EXPECT_EQ(net->learnable()[0].lr_mult, 2);
  EXPECT_EQ(net->learnable()[0].decay_mult, 0);
  EXPECT_EQ(net->learnable()[1].lr_mult, 1);
  EXPECT_EQ(net->learnable()[1].decay_mult, 1);
  EXPECT_TRUE(net->learnable()[2].statistic);
  EXPECT_EQ(net->learnable()[2].lr_mult, 0);
  EXPECT_EQ(net->learnable()[2].decay_mult, 0);
}

TEST(NetSharing, SharersUseTheOwnersValuesAndGradients) {
  const auto net = small_net(chain("param { name: 'w' }", "param { name: 'w' lr_mult: 3 decay_mult: 0 }"));
  ASSERT_EQ(net->learnable().size(), 1u);
  EXPECT_EQ(net->learnable()[0].lr_mult, 3);  // the first to say something decides
  EXPECT_EQ(net->learnable()[0].decay_mult, 0);
  Blob &a = *net->layer("a")->blobs()[0], &b = *net->layer("b")->blobs()[0];
  EXPECT_EQ(a.data(), b.data());
  EXPECT_EQ(b.data_vector(), std::vector<float>(33, 2));
  net->blob("data")->write_data(std::vector<float>(6, 1).data());
  net->forward();
  net->backward();
  // loss = 6 (sum w)^2, so every gradient is 12 * 66.
  EXPECT_EQ(a.diff_vector(), std::vector<float>(33, 12 * 66));
  EXPECT_EQ(a.diff(), b.diff());
}

TEST(NetSharing, ShapesAndMultipliersMustAgree) {
  EXPECT_THROW(small_net(chain("param { name: 'w' }", "param { name: 'w' }", 5)), ShapeError);
  EXPECT_THROW(small_net(chain("param { name: 'w' }", "param { name: 'w' share_mode: PERMISSIVE }", 5)), ShapeError);
  EXPECT_THROW(small_net(chain("param { name: 'w' lr_mult: 1 }", "param { name: 'w' lr_mult: 2 }")), ConfigError);
  EXPECT_THROW(small_net(chain("param { name: 'w' decay_mult: 1 }", "param { name: 'w' decay_mult: 0 }")), ConfigError);
  EXPECT_NO_THROW(small_net(chain("param { name: 'w' lr_mult: 2 }", "param { name: 'w' lr_mult: 2 }")));
}

TEST(NetSharing, PermissiveAsksForCountsOnly) {
  const std::string row =
      "layer { name: 'r' type: 'Scale' bottom: 'x' top: 'y' inner_product_param { num_output: 33 "
      "transpose: true } param { name: 'w' ";
  const std::string net = data_layer() + scale_layer("a", "data", "x", "param { name: 'w' }", 2, 33) + row;
  EXPECT_THROW(small_net(net + "} }"), ShapeError);
  const auto shared = small_net(net + "share_mode: PERMISSIVE } }");
  EXPECT_EQ(shared->layer("r")->blobs()[0]->shape(), (Shape{1, 33}));
  EXPECT_EQ(shared->layer("r")->blobs()[0]->data_vector(), std::vector<float>(33, 2));
}

TEST(NetWeights, RoundTripThroughTheProto) {
  const auto from = small_net("name: 'from' " + chain("", ""));
  std::vector<float> values(33);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * static_cast<float>(i);
  from->layer("a")->blobs()[0]->write_data(values.data());
  caffe::NetParameter stored;
  from->to_proto(stored);
  EXPECT_EQ(stored.name(), "from");
  ASSERT_EQ(stored.layer_size(), 4);
  EXPECT_EQ(stored.layer(1).blobs(0).diff_size(), 0);
  const auto to = small_net(chain("", ""));
  to->copy_trained(stored);
  EXPECT_EQ(to->layer("a")->blobs()[0]->data_vector(), values);
  EXPECT_EQ(to->layer("a")->blobs()[0]->data(), to->parameter_arena()->data + to->learnable()[0].arena_offset);
  from->to_proto(stored, true);
  EXPECT_EQ(stored.layer(1).blobs(0).diff_size(), 33);
  EXPECT_NO_THROW(small_net(stored));  // layers take the blobs that their parameter brings
  EXPECT_EQ(small_net(stored)->layer("a")->blobs()[0]->data_vector(), values);
}

TEST(NetWeights, OtherLayersAreLeftAndOtherShapesRefused) {
  caffe::NetParameter stored;
  small_net(data_layer() + scale_layer("b", "data", "y", "", 9, 5) + scale_layer("c", "y", "z"))->to_proto(stored);
  const auto fitting = small_net(chain("", "", 5));
  fitting->copy_trained(stored);
  EXPECT_EQ(fitting->layer("a")->blobs()[0]->data_vector(), std::vector<float>(33, 2));
  EXPECT_EQ(fitting->layer("b")->blobs()[0]->data_vector(), std::vector<float>(5, 9));
  try {
    small_net(chain("", "", 6))->copy_trained(stored);
    FAIL() << "another shape was accepted";
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("layer 'b': blob 0 of the weights has shape 5 (5), the net's has 6 (6)"),
              std::string::npos)
        << error.what();
  }
  stored.mutable_layer(1)->clear_blobs();
  EXPECT_THROW(fitting->copy_trained(stored), ShapeError);
}

TEST(NetWeights, OthersWeightsAreRefused) {
  caffe::NetParameter none, others;
  const auto net = small_net(chain("", ""));
  for (auto* const stored : {&none, &others}) {
    try {
      net->copy_trained(*stored);
      FAIL() << "weights of another net were taken";
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("shares no layer with the weights"), std::string::npos) << error.what();
    }
    small_net(data_layer() + scale_layer("elsewhere", "data", "y", "", 9, 5))->to_proto(others);
  }
  EXPECT_NO_THROW(small_net(data_layer())->copy_trained(others));  // nothing there wants weights
}

TEST(NetWeights, LegacyShapesFit) {
  caffe::NetParameter stored;
  small_net(data_layer() + scale_layer("b", "data", "y", "", 9, 5))->to_proto(stored);
  auto& blob = *stored.mutable_layer(1)->mutable_blobs(0);
  blob.clear_shape();
  blob.set_num(1);
  blob.set_channels(1);
  blob.set_height(1);
  blob.set_width(5);
  const auto net = small_net(chain("", "", 5));
  net->copy_trained(stored);
  EXPECT_EQ(net->layer("b")->blobs()[0]->data_vector(), std::vector<float>(5, 9));
}

TEST(NetWeights, ATestNetSharesTheTrainingNets) {
  const auto train = small_net(chain("", ""));
  const auto test = small_net(chain("", "") + scale_layer("only_here", "data", "u", "", 4), caffe::TEST);
  test->share_trained(*train);
  EXPECT_EQ(test->layer("a")->blobs()[0]->data(), train->layer("a")->blobs()[0]->data());
  const std::vector<float> changed(33, 7);
  train->layer("b")->blobs()[0]->write_data(changed.data());
  EXPECT_EQ(test->layer("b")->blobs()[0]->data_vector(), changed);
  EXPECT_EQ(test->layer("only_here")->blobs()[0]->data_vector()[0], 4);
  EXPECT_EQ(test->parameter_arena(), nullptr);
  EXPECT_THROW(small_net(chain("", "", 6))->share_trained(*train), ShapeError);
}

TEST(NetWeights, SharersFollowAnOwnerThatIsShared) {
  const auto train = small_net(data_layer() + scale_layer("a", "data", "x", "param { name: 'w' }", 5));
  const auto test = small_net(data_layer() + scale_layer("a", "data", "x", "param { name: 'w' }") +
                              scale_layer("user", "x", "y", "param { name: 'w' }"));
  test->share_trained(*train);
  EXPECT_EQ(test->layer("user")->blobs()[0]->data(), train->layer("a")->blobs()[0]->data());
}

/// Two ranks, the other of which has the statistics 10, 20, 30.
class TwoReplicas : public Replicas {
 public:
  int size() const override { return 2; }
  void sum(double* values, i64 count) const override {
    for (i64 i = 0; i < count; ++i) values[i] += 10.0 * static_cast<double>(i + 1);
  }
};

TEST(NetStatistics, AreAveragedOverReplicas) {
  const TwoReplicas replicas;
  const std::string text = data_layer() + "layer { name: 's' type: 'Statistic' bottom: 'data' top: 'd' } " +
                           scale_layer("a", "d", "x") + loss_layer("x");
  const auto net = small_net(net_parameter(text), {}, &replicas);
  EXPECT_EQ(net->run().ranks, 2);
  net->layer("s")->blobs()[0]->write_data(std::vector<float>{2, 4, 6}.data());
  net->average_statistics();
  EXPECT_EQ(net->layer("s")->blobs()[0]->data_vector(), (std::vector<float>{6, 12, 18}));
  EXPECT_EQ(net->layer("a")->blobs()[0]->data_vector()[0], 2);
}

}  // namespace
}  // namespace cortado::test::parameters_test
