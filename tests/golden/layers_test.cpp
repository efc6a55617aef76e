// One layer, or a few, forward and backward, on every backend of the build.
#include <set>

#include "core/formats/prototxt.h"
#include "layers/all_layers.h"
#include "tests/golden/cases.h"
#include "tests/golden/h5_file.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::layers_test {
namespace {
/// Relative tolerance, by the layer types in the net.
float relative_tolerance(const caffe::NetParameter& net) {
  static const std::set<std::string> loose = {"LRN", "LSTM", "RNN", "MVN", "Exp", "Log", "Power"};
  for (const auto& layer : net.layer())
    if (loose.count(layer.type()) != 0) return 2e-4f;
  return 1e-4f;
}

class GoldenLayers : public ::testing::TestWithParam<GoldenCase> {};

/// One case on one backend.
class LayerCase {
 public:
  LayerCase(const H5File& file, const caffe::NetParameter& net, const LayerTable& layers, const std::string& backend)
      : file_(file), tolerance_(relative_tolerance(net)) {
    NetOptions options;
    options.group = &group_of(backend);
    options.layers = &layers;
    net_ = std::make_unique<Net>(net, options);
  }

  /// Has convolutions take plain sums where they would take Winograd's plan; whether any would.
  bool avoid_winograd() {
    PlanBook plans = net_->plans();
    bool would = false;
    for (auto& [direction, plan] : plans)
      if (plan.find("winograd") != std::string::npos)
        plan = plan == "vendor_winograd" ? "vendor" : "direct", would = true;
    if (would) net_->use_plans(plans);
    return would;
  }

  void run(float absolute) {
    absolute_ = absolute;
    for (const auto& name : file_.members("input")) blob(name).write_data(file_.values("input/" + name).data());
    for_parameters("param", [](Blob& b, const std::vector<float>& v) { b.write_data(v.data()); });
    net_->forward();
    for (const auto& name : file_.members("output")) compare(blob(name).data_vector(), "output/" + name);
    compare_parameters("param_after", [](const Blob& b) { return b.data_vector(); });
    if (file_.number(".", "backward") == 0) return;
    for (const auto& name : file_.members("output_diff"))
      blob(name).write_diff(file_.values("output_diff/" + name).data());
    net_->clear_gradients();
    net_->backward();
    for (const auto& name : file_.members("input_diff")) compare(blob(name).diff_vector(), "input_diff/" + name);
    compare_parameters("param_diff", [](const Blob& b) { return b.diff_vector(); });
  }

 private:
  Blob& blob(const std::string& name) { return *net_->blob(name); }

  /// Calls `f(path, blob)` for every "GROUP/LAYER/i" of the file.
  template <class F>
  void for_paths(const std::string& group, const F& f) {
    for (const auto& layer : file_.members(group))
      for (const auto& i : file_.members(group + "/" + layer))
        f(group + "/" + layer + "/" + i, *net_->layer(layer)->blobs().at(std::stoul(i)));
  }
  template <class F>
  void for_parameters(const std::string& group, const F& f) {
    for_paths(group, [&](const std::string& path, Blob& b) {
      ASSERT_EQ(b.shape(), file_.shape(path)) << path;
      f(b, file_.values(path));
    });
  }
  template <class F>
  void compare_parameters(const std::string& group, const F& values) {
    for_paths(group, [&](const std::string& path, const Blob& b) { compare(values(b), path); });
  }
  void compare(const std::vector<float>& ours, const std::string& path) {
    SCOPED_TRACE(path);
    expect_near(ours, file_.values(path), absolute_, tolerance_);
  }

  const H5File& file_;
  float tolerance_, absolute_ = 0;
  std::unique_ptr<Net> net_;
};

TEST_P(GoldenLayers, MatchCaffe) {
  const H5File file(GetParam().file);
  caffe::NetParameter net;
  parse_text(file.text(".", "net"), GetParam().name, net);
  net.mutable_state()->set_phase(file.text(".", "phase") == "TRAIN" ? caffe::TRAIN : caffe::TEST);
  const LayerTable layers = all_layers();
  if (!can_run(GetParam(), missing_layers(net, layers))) return;
  for (const auto& backend : backend_names()) {
    SCOPED_TRACE("backend " + backend);
    LayerCase plain(file, net, layers, backend);
    const bool winograd = plain.avoid_winograd();
    plain.run(1e-5f);
    if (winograd) LayerCase(file, net, layers, backend).run(2e-4f);  // its bound: docs/design/cpu.md
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenLayers);
INSTANTIATE_TEST_SUITE_P(Layers, GoldenLayers, ::testing::ValuesIn(golden_cases("layers")), case_name);

}  // namespace
}  // namespace cortado::test::layers_test
