// A whole network on the simulated processors: LeNet, its batch shared by their core groups, against the serial
// context.
#include <gtest/gtest.h>

#include "app/session/backend.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/solver/core_groups.h"
#include "layers/all_layers.h"
#include "parallel_io/convert/convert.h"
#include "parallel_io/feed/sources.h"
#include "tests/support/backends.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::lenet_test {
namespace {

struct Case {
  const char* machine;
  int core_groups, batch;
};

class SunwayLeNet : public ::testing::TestWithParam<Case> {};

TEST_P(SunwayLeNet, TrainsWithTheLossesOfTheReference) {
  const TemporaryFolder folder;
  DigitOptions digits;
  digits.train = 64, digits.test = 16;
  FolderOptions convert;
  convert.to = folder.path().string();
  convert.scale = 1.0f / 256;
  convert_digits(digits, convert, {});
  caffe::NetParameter net;
  read_net("models/lenet/train_val.prototxt", net);
  for (auto& layer : *net.mutable_layer())
    if (layer.has_hdf5_data_param()) {
      layer.mutable_hdf5_data_param()->set_source(folder.file("train.txt"));
      layer.mutable_hdf5_data_param()->set_batch_size(static_cast<unsigned>(GetParam().batch));
    }
  caffe::SolverParameter parameter;
  parse_text("base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005 lr_policy: 'fixed' train_state { stage: 'digits' }",
             "solver", parameter);
  *parameter.mutable_net_param() = net;

  const LayerTable layers = all_layers();
  const Sources sources;
  SolverOptions options;
  options.layers = &layers;
  options.sources = &sources;
  options.group = &group_of("reference");
  Solver reference(parameter, options);
  std::vector<double> losses;
  for (int i = 0; i < 4; ++i) {
    reference.step(1);
    losses.push_back(reference.last_loss());
  }

  BackendOptions whole;
  whole.core_groups = GetParam().core_groups;
  whole.machine = GetParam().machine;
  const auto processor = make_processor(whole);
  options.group = &processor->group(0);
  options.core_groups = GetParam().core_groups;
  train_on_core_groups(*processor, options, [&](const SolverOptions& own) {
    Solver solver(parameter, own);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      solver.step(1);
      EXPECT_NEAR(solver.last_loss(), losses[i], 1e-5 * losses[i]) << "iteration " << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Machines, SunwayLeNet, ::testing::Values(Case{"sw26010", 4, 16}, Case{"sw26010pro", 6, 12}),
                         [](const auto& one) { return std::string(one.param.machine); });

}  // namespace
}  // namespace cortado::test::lenet_test
