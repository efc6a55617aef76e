#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/layer.h"
#include "tests/support/backends.h"

namespace cortado::test {

/// One layer on one backend with bottoms of given shapes, ready to be run and compared.
///
///   LayerRig rig("lanes", R"(name: "p" type: "Pooling" pooling_param { kernel_size: 3 stride: 2 })", {{2, 3, 7, 5}});
///   rig.fill_bottom(0, [](i64 i) { return value(i); });
///   rig.forward();
///   expect_near(rig.top(0).data_vector(), oracle, 1e-5f, 1e-4f);
///   rig.check_gradients();
class LayerRig {
 public:
  /// `text` is a LayerParameter. `tops` counts the top blobs. Bottoms are filled with noise(bottom number, i).
  LayerRig(const std::string& backend, const std::string& text, const std::vector<Shape>& bottoms, int tops = 1,
           Phase phase = Phase::train);
  ~LayerRig();

  Blob& bottom(std::size_t i) { return *bottom_[i]; }
  Blob& top(std::size_t i) { return *top_[i]; }
  Blob& blob(std::size_t i) { return *layer_->blobs()[i]; }
  Layer& layer() { return *layer_; }
  RunState& run() { return run_; }

  void fill_bottom(std::size_t i, const std::function<float(i64)>& value);
  void fill_top_diff(std::size_t i, const std::function<float(i64)>& value);
  void fill_blob(std::size_t i, const std::function<float(i64)>& value);

  /// Reshape and forward, then wait.
  void forward();
  /// Backward to the bottoms that `propagate` names (all that the layer allows, if empty), from the tops' diffs;
  /// parameter diffs are cleared before, no numbers until somebody writes them. Waits.
  void backward(std::vector<bool> propagate = {});

  /// Compares backward with central differences of sum over tops of weight(j) * top[j] with respect to every element
  /// of every bottom that the layer allows and of every parameter. Elements whose two one-sided slopes disagree (kinks)
  /// are left out if `skip_kinks`; at least half must remain. For losses the top's diff is 1.
  void check_gradients(float step = 1e-2f, float tolerance = 1e-2f, bool skip_kinks = false);

 private:
  double objective();
  void compare_gradient(const std::string& what, Blob& values, const std::vector<float>& gradient, float step,
                        float tolerance, bool skip_kinks);

  CoreGroup& group_;
  Services services_;
  RunState run_;
  Replicas alone_;
  Workspace workspace_;
  std::vector<std::unique_ptr<Blob>> bottom_storage_, top_storage_;
  Layer::Blobs bottom_, top_;
  std::unique_ptr<Layer> layer_;
  std::vector<std::vector<float>> top_weights_;
};

/// Reproducible values in [-1, 1), element `i` of stream `stream`.
float noise(std::uint64_t stream, i64 i);
std::vector<float> noise_vector(std::uint64_t stream, i64 count);

/// |a - b| <= absolute + relative |b| for every element; reports the first few that differ.
void expect_near(const std::vector<float>& actual, const std::vector<float>& expected, float absolute, float relative);

/// Test-suite parameter over all backends: INSTANTIATE_TEST_SUITE_P(Backends, PoolingTest, all_backends(),
/// backend_name).
inline auto all_backends() { return ::testing::ValuesIn(backend_names()); }

/// The same over those that quick test bodies are run on as well.
inline auto more_backends() { return ::testing::ValuesIn(further_backends()); }
template <class Condition>
std::vector<std::string> backends_with(const Condition& condition) {
  std::vector<std::string> names;
  for (const auto& name : backend_names())
    if (condition(group_of(name).spec())) names.push_back(name);
  return names;
}
/// The backends whose programs may store bf16; none on a machine that does not.
inline auto bf16_backends() {
  return ::testing::ValuesIn(backends_with([](const MachineSpec& spec) { return spec.bf16; }));
}
/// The backends on which convolutions can make and take blocks of channels.
inline auto block_backends() {
  return ::testing::ValuesIn(backends_with([](const MachineSpec& spec) { return spec.works_from_caches(); }));
}
inline std::string backend_name(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace cortado::test
