// A net in which Crop takes its size from a blob that learns, as FCN-8s and U-Net have it: gradients against
// differences, with planes and with blocks of channels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/layer_rig.h"
#include "tests/support/real_nets.h"

namespace cortado::test::crop_net_test {
namespace {

/// `up` is read by the concatenation and gives both crops their size.
constexpr const char* unet = R"(
  layer { name: 'data' type: 'Input' top: 'data' top: 'label' input_param {
          shape { dim: 2 dim: 3 dim: 14 dim: 13 } shape { dim: 2 dim: 1 dim: 14 dim: 13 } } }
  layer { name: 'enc' type: 'Convolution' bottom: 'data' top: 'enc'
          convolution_param { num_output: 16 kernel_size: 3 weight_filler { type: 'xavier' } } }
  layer { name: 'down' type: 'Convolution' bottom: 'enc' top: 'down'
          convolution_param { num_output: 16 kernel_size: 4 stride: 2 weight_filler { type: 'xavier' } } }
  layer { name: 'up' type: 'Deconvolution' bottom: 'down' top: 'up'
          convolution_param { num_output: 16 kernel_size: 2 stride: 2 weight_filler { type: 'xavier' } } }
  layer { name: 'crop' type: 'Crop' bottom: 'enc' bottom: 'up' top: 'crop' crop_param { axis: 2 offset: 1 } }
  layer { name: 'cat' type: 'Concat' bottom: 'crop' bottom: 'up' top: 'cat' }
  layer { name: 'score' type: 'Convolution' bottom: 'cat' top: 'score'
          convolution_param { num_output: 3 kernel_size: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'cl' type: 'Crop' bottom: 'label' bottom: 'up' top: 'cl' crop_param { axis: 2 offset: 2 } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'score' bottom: 'cl' top: 'loss' })";

class CropNet : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Net> make(const PlanBook& plans, bool only_trains) const {
    NetOptions options = net_options(GetParam());
    options.plans = plans;
    options.only_trains = only_trains;
    auto net = std::make_unique<Net>(training_net(unet), options);
    Blob &data = *net->inputs()[0], &label = *net->inputs()[1];
    data.write_data(noise_vector(1, data.count()).data());
    std::vector<float> labels(static_cast<std::size_t>(label.count()));
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<float>(i * i % 3);
    label.write_data(labels.data());
    return net;
  }
};

TEST_P(CropNet, GradientsAreThoseOfTheLoss) {
  const bool has_blocks = group_of(GetParam()).spec().works_from_caches();
  const PlanBook planes = {{"enc/layout", "nchw"}, {"down/layout", "nchw"}},
                 blocks = {{"enc/layout", "nchw16c"}, {"down/layout", "nchw16c"}};
  for (const PlanBook& plans : has_blocks ? std::vector<PlanBook>{planes, blocks} : std::vector<PlanBook>{planes})
    for (const bool only_trains : {false, true}) {
      const auto net = make(plans, only_trains);
      for (int pass = 0; pass < 2; ++pass) {
        net->forward();
        net->clear_gradients();
        net->backward();
      }
      for (const auto& parameter : net->learnable()) {
        const auto gradient = parameter.blob->diff_vector();
        auto values = parameter.blob->data_vector();
        const auto at =
            static_cast<std::size_t>(std::max_element(gradient.begin(), gradient.end(),
                                                      [](float a, float b) { return std::fabs(a) < std::fabs(b); }) -
                                     gradient.begin());
        const auto loss_with = [&](float more) {
          auto moved = values;
          moved[at] += more;
          parameter.blob->write_data(moved.data());
          net->forward();
          return net->loss();
        };
        const float step = 1e-2f;
        const double slope = (loss_with(step) - loss_with(-step)) / (2.0 * step);
        parameter.blob->write_data(values.data());
        EXPECT_NEAR(gradient[at], slope, 2e-3 + 2e-2 * std::fabs(slope)) << parameter.layer << " " << parameter.index;
        EXPECT_GT(std::fabs(gradient[at]), 1e-4) << parameter.layer;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Backends, CropNet, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::crop_net_test
