// A whole network, one forward and backward, on the backend that the build is for.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "app/backend.h"
#include "core/formats/prototxt.h"
#include "layers/all_layers.h"
#include "tests/golden/cases.h"
#include "tests/golden/h5_file.h"

namespace cortado::test {
namespace {
double l2(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += double{v} * double{v};
  return std::sqrt(sum);
}

float largest(const std::vector<float>& values) {
  float most = 0;
  for (const float v : values) most = std::max(most, std::fabs(v));
  return most;
}

/// Up to 16 elements spread evenly from the first to the last, as numpy's linspace truncated to integers gives them.
std::vector<float> sample(const std::vector<float>& values) {
  const std::size_t n = values.size(), taken = std::min<std::size_t>(n, 16);
  std::vector<float> picked;
  const double step = taken > 1 ? static_cast<double>(n - 1) / static_cast<double>(taken - 1) : 0;
  for (std::size_t i = 0; i + 1 < taken; ++i)
    picked.push_back(values[static_cast<std::size_t>(static_cast<double>(i) * step)]);
  picked.push_back(values[n - 1]);
  return picked;
}

void expect_norm(const std::vector<float>& ours, double norm, const std::string& what) {
  EXPECT_NEAR(l2(ours), norm, 1e-3 * norm) << what << ", l2 norm";
}

/// `share` is of the largest absolute value of the blob.
void expect_sample(const std::vector<float>& ours, const std::vector<float>& expected, float share,
                   const std::string& what) {
  const auto picked = sample(ours);
  ASSERT_EQ(picked.size(), expected.size()) << what;
  for (std::size_t i = 0; i < picked.size(); ++i)
    EXPECT_NEAR(picked[i], expected[i], share * largest(ours)) << what << ", sample " << i;
}

void fill_inputs(const Net& net) {
  Blob &data = *net.blob("data"), &label = *net.blob("label");
  std::vector<float> values(static_cast<std::size_t>(data.count())), labels(static_cast<std::size_t>(label.count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(2 * formula(0xDA7A, static_cast<i64>(i)) - 1);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<float>(7 * i % 1000);
  data.write_data(values.data());
  label.write_data(labels.data());
}

void compare_blobs(const H5File& file, const Net& net) {
  for (const auto& name : file.members("blob")) {
    const std::string path = "blob/" + name;
    const Blob* blob = net.blob(name);
    ASSERT_NE(blob, nullptr) << path;
    const auto shape = file.numbers(path, "shape");
    EXPECT_EQ(blob->shape(), Shape(shape.begin(), shape.end())) << path;
    const auto ours = blob->data_vector();
    expect_norm(ours, file.number(path, "l2"), path);
    expect_sample(ours, file.values(path + "/sample"), 1e-3f, path);
  }
}

void compare_parameters(const H5File& file, const Net& net) {
  for (const auto& layer : file.members("param"))
    for (const auto& index : file.members("param/" + layer)) {
      const std::string path = "param/" + layer + "/" + index;
      const Blob& blob = *net.layer(layer)->blobs().at(std::stoul(index));
      if (file.has(path + "/data_after")) {
        expect_sample(blob.data_vector(), file.values(path + "/data_after"), 1e-3f, path + " after");
      } else {
        const auto ours = blob.diff_vector();
        expect_norm(ours, file.number(path, "diff_l2"), path + " gradient");
        expect_sample(ours, file.values(path + "/diff_sample"), 5e-3f, path + " gradient");
      }
    }
}

class GoldenNets : public ::testing::TestWithParam<GoldenCase> {};

bool known_to_differ(const std::string& name) {
  std::ifstream list("tests/golden/known_failures.txt");
  for (std::string line; std::getline(list, line);)
    if (line == name) return true;
  return false;
}

TEST_P(GoldenNets, MatchCaffe) {
  if (known_to_differ(GetParam().name))
    GTEST_SKIP() << GetParam().name << " is known to differ from Caffe (tests/golden/known_failures.txt)";
  const H5File file(GetParam().file);
  caffe::NetParameter parameter;
  parse_text(file.text(".", "net"), GetParam().name, parameter);
  parameter.mutable_state()->set_phase(caffe::TRAIN);
  const LayerTable layers = all_layers();
  if (!can_run(GetParam(), missing_layers(parameter, layers))) return;
  static const auto processor = make_processor();
  NetOptions options;
  options.group = &processor->group(0);
  options.layers = &layers;
  Net net(parameter, options);
  fill_parameters(net);
  fill_inputs(net);
  net.forward();
  compare_blobs(file, net);
  net.clear_gradients();
  net.backward();
  compare_parameters(file, net);
  const auto data_diff = net.blob("data")->diff_vector();
  expect_norm(data_diff, file.number(".", "data_diff_l2"), "data gradient");
  expect_sample(data_diff, file.values("data_diff_sample"), 5e-3f, "data gradient");
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenNets);
INSTANTIATE_TEST_SUITE_P(Nets, GoldenNets, ::testing::ValuesIn(golden_cases("nets")), case_name);

}  // namespace
}  // namespace cortado::test
