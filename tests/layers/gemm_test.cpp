#include "layers/gemm/gemm.h"

#include "tests/support/layer_rig.h"

namespace cortado::test::gemm_test {
namespace {

class GemmTest : public ::testing::TestWithParam<std::string> {};

/// Noise with more digits than a float holds, so that a product in float would be noticed.
double fine_noise(std::uint64_t stream, i64 i) { return noise(stream, i) + 1e-9 * noise(stream + 10, i); }

TEST_P(GemmTest, DoubleProductHasDoublePrecision) {
  CoreGroup& group = group_of(GetParam());
  struct Case {
    i64 m, n, k;
  };
  for (const Case& c : {Case{1, 1, 1}, Case{3, 70, 5}, Case{65, 7, 33}, Case{35, 129, 130}}) {
    SCOPED_TRACE(std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k));
    std::vector<double> a, b, y(static_cast<std::size_t>(c.m * c.n));
    for (i64 i = 0; i < c.m * c.k; ++i) a.push_back(fine_noise(1, i));
    for (i64 i = 0; i < c.k * c.n; ++i) b.push_back(fine_noise(2, i));
    const auto bytes = [](const std::vector<double>& v) { return v.size() * sizeof(double); };
    const ClusterMemory left(group, bytes(a)), right(group, bytes(b)), result(group, bytes(y));
    group.copy(left.get(), a.data(), bytes(a));
    group.copy(right.get(), b.data(), bytes(b));
    multiply(group, c.m, c.n, c.k, left.as<double>(), right.as<double>(), result.as<double>());
    group.copy(y.data(), result.get(), bytes(y));
    group.wait();
    for (i64 i = 0; i < c.m; ++i)
      for (i64 j = 0; j < c.n; ++j) {
        double sum = 0;
        for (i64 t = 0; t < c.k; ++t)
          sum += a[static_cast<std::size_t>(i * c.k + t)] * b[static_cast<std::size_t>(t * c.n + j)];
        ASSERT_NEAR(y[static_cast<std::size_t>(i * c.n + j)], sum, 1e-12) << i << " " << j;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, GemmTest, all_backends(), backend_name);
INSTANTIATE_TEST_SUITE_P(Further, GemmTest, more_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::gemm_test
