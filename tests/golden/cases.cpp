#include "tests/golden/cases.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "core/base/log.h"
#include "core/base/random.h"
#include "tests/golden/h5_file.h"

namespace cortado::test {
namespace {
/// Counts at the end of the program what passed, failed, and waits for layers.
class Summary : public ::testing::Environment {
 public:
  void SetUp() override { open_log(true); }
  void TearDown() override {
    if (golden_folder().empty()) return;
    int passed = 0, failed = 0, waiting = 0;
    std::string reasons;
    const auto& all = *::testing::UnitTest::GetInstance();
    for (int s = 0; s < all.total_test_suite_count(); ++s)
      for (int t = 0; t < all.GetTestSuite(s)->total_test_count(); ++t) {
        const auto& test = *all.GetTestSuite(s)->GetTestInfo(t);
        if (!test.should_run() || test.value_param() == nullptr) continue;
        const auto& result = *test.result();
        passed += result.Passed() && !result.Skipped();
        failed += result.Failed();
        waiting += result.Skipped();
        if (!result.Skipped()) continue;
        const std::string name = test.name();
        reasons += "  " + name.substr(name.find('/') + 1) + ": " + result.GetTestPartResult(0).message() + "\n";
      }
    std::cout << "golden: " << passed << " passed, " << failed << " failed, " << waiting << " not yet supported\n"
              << reasons << std::flush;
  }
};
[[maybe_unused]] const auto* const summary = ::testing::AddGlobalTestEnvironment(new Summary);

const std::set<std::string>& required_cases() {
  static const std::set<std::string> names = [] {
    std::set<std::string> read;
    std::ifstream list("tests/golden/required.txt");  // tests run in the tree's root
    for (std::string line; std::getline(list, line);)
      if (!line.empty() && line[0] != '#') read.insert(line);
    return read;
  }();
  return names;
}

}  // namespace

std::string golden_folder() {
  const char* folder = std::getenv("CORTADO_GOLDEN");
  return folder == nullptr ? "" : folder;
}

std::vector<GoldenCase> golden_cases(const std::string& group) {
  std::vector<GoldenCase> cases;
  const std::filesystem::path folder = std::filesystem::path(golden_folder()) / group;
  if (golden_folder().empty() || !std::filesystem::is_directory(folder)) return cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".h5" || !H5File(entry.path().string()).has_attribute(".", "net")) continue;
    const std::string name = group + "/" + entry.path().stem().string();
    cases.push_back({name, entry.path().string(), required_cases().count(name) != 0});
  }
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

std::string case_name(const ::testing::TestParamInfo<GoldenCase>& info) {
  std::string name = info.param.name.substr(info.param.name.find('/') + 1);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::string missing_layers(const caffe::NetParameter& net, const LayerTable& layers) {
  std::set<std::string> types;
  for (const auto& layer : net.layer())
    if (!layers.has(layer.type())) types.insert(layer.type());
  std::string missing;
  for (const auto& type : types) missing += (missing.empty() ? "layer type " : ", ") + type;
  return missing;
}

bool can_run(const GoldenCase& golden, const std::string& missing) {
  if (missing.empty()) return true;
  if (golden.required)
    ADD_FAILURE() << golden.name << " is required and cannot run without " << missing;
  else
    [&] { GTEST_SKIP() << missing; }();
  return false;
}

double formula(std::uint64_t stream, i64 i) {
  const std::uint64_t x = (stream << 32) + static_cast<std::uint64_t>(i);
  return static_cast<double>(mix64(x) >> 40) / 16777216.0;
}

void fill_parameters(const Net& net) {
  std::uint64_t stream = 0;
  for (const auto& entry : net.layers()) {
    if (entry.type == "BatchNorm") continue;
    const bool scale = entry.type == "Scale";
    for (std::size_t b = 0; b < entry.layer->blobs().size(); ++b, ++stream) {
      Blob& blob = *entry.layer->blobs()[b];
      const double fan_in = static_cast<double>(blob.count()) / static_cast<double>(blob.dim(0));
      const double width = b > 0 ? (scale ? 0.2 : 0.1) : std::sqrt(6 / fan_in);
      std::vector<float> values(static_cast<std::size_t>(blob.count()));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double u = formula(stream, static_cast<i64>(i));
        values[i] = static_cast<float>(scale && b == 0 ? 0.5 + u : width * (2 * u - 1));
      }
      blob.write_data(values.data());
    }
  }
}

// Run once per group: each executable of this folder has one.
TEST(Golden, FolderIsGiven) {
  if (golden_folder().empty()) GTEST_SKIP() << "CORTADO_GOLDEN is not set: golden tests not run";
  EXPECT_TRUE(std::filesystem::is_directory(golden_folder())) << golden_folder() << " is no folder";
}

TEST(Golden, RequiredCasesAreThere) {
  if (golden_folder().empty()) GTEST_SKIP();
  const auto& required = required_cases();
  EXPECT_FALSE(required.empty()) << "tests/golden/required.txt is not read";
  for (const auto& name : required)
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(golden_folder()) / (name + ".h5")))
        << name << " is absent";
}

}  // namespace cortado::test
