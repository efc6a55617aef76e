// The vendor's matrix library behind the Kokkos backend against plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/backends/kokkos/rig.h"

namespace cortado::test::library_test {
namespace {

struct Sizes {
  i64 m, n, k;
};

/// What gemm_batch should leave in y, in plain loops.
void oracle(const MatrixLibrary::Gemm& g, i64 count, i64 stride_a, i64 stride_b, i64 stride_y,
            const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& y) {
  for (i64 p = 0; p < count; ++p)
    for (i64 i = 0; i < g.m; ++i)
      for (i64 j = 0; j < g.n; ++j) {
        float sum = 0;
        for (i64 k = 0; k < g.k; ++k)
          sum += a[static_cast<std::size_t>(p * stride_a + (g.transpose_a ? k * g.lda + i : i * g.lda + k))] *
                 b[static_cast<std::size_t>(p * stride_b + (g.transpose_b ? j * g.ldb + k : k * g.ldb + j))];
        float& to = y[static_cast<std::size_t>(p * stride_y + i * g.ldy + j)];
        to = g.alpha * sum + g.beta * to;
      }
}

void check(CoreGroup& group, const Sizes& s, bool transpose_a, bool transpose_b, i64 count, float alpha = 2,
           float beta = 3, Precision operands = Precision::fp32) {
  MatrixLibrary::Gemm g;
  g.operands = operands;
  g.transpose_a = transpose_a;
  g.transpose_b = transpose_b;
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.alpha = alpha;
  g.beta = beta;
  g.lda = (transpose_a ? s.m : s.k) + 1;
  g.ldb = (transpose_b ? s.k : s.n) + 2;
  g.ldy = s.n + 3;
  const i64 stride_a = (transpose_a ? s.k : s.m) * g.lda, stride_b = (transpose_b ? s.n : s.k) * g.ldb,
            stride_y = s.m * g.ldy;
  const auto a = whole_numbers(1, count * stride_a), b = whole_numbers(2, count * stride_b);
  auto y = whole_numbers(3, count * stride_y);
  Device<float> da(group, a), db(group, b), dy(group, y);
  g.a = da.get();
  g.b = db.get();
  g.y = dy.get();
  if (count == 1)
    group.library()->gemm(g);
  else
    group.library()->gemm_batch(g, count, stride_a, stride_b, stride_y);
  oracle(g, count, stride_a, stride_b, stride_y, a, b, y);
  EXPECT_EQ(dy.read(), y) << count << " products of " << s.m << " x " << s.n << " x " << s.k
                          << (transpose_a ? " T" : " N") << (transpose_b ? "T " : "N ") << to_string(operands);
}

void check_all(CoreGroup& group) {
  for (const Sizes& s : {Sizes{1, 1, 1}, Sizes{3, 5, 7}, Sizes{17, 33, 65}, Sizes{64, 1, 31}, Sizes{1, 100, 9}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const i64 count : {1, 2, 5}) check(group, s, ta, tb, count);
}

TEST(KokkosLibrary, ProductsMatchPlainLoops) {
  const auto processor = kokkos_processor();
  ASSERT_NE(processor->group(0).library(), nullptr);
  EXPECT_FALSE(processor->group(0).library()->name().empty());
  check_all(processor->group(0));
}

/// Every product of one long matrix with few rows; sizes straddle blocks, vectors and shares.
void check_thin(CoreGroup& group, i64 few, i64 terms, float beta, Precision operands) {
  check(group, {few, 1027, terms}, false, true, 1, 1, beta, operands);
  check(group, {few, 1040, terms}, false, false, 1, 1, beta, operands);
  for (const float old : {0.0f, 1.0f}) check(group, {1027, 1040, few}, true, false, 1, 1, old, operands);
}

// Not by BLAS on hosts.
TEST(KokkosLibrary, ThinProductsMatchPlainLoops) {
  for (const int threads : {1, 2}) {
    const auto processor = kokkos_processor(1, threads);
    CoreGroup& group = processor->group(0);
    const float beta = threads == 1 ? 0.0f : 1.0f;
    for (const i64 few : {1, 5, 21, 64}) check_thin(group, few, 1030, beta, Precision::fp32);
    check(group, {3, 40, 27000}, false, true, 1, 1, beta);
    check(group, {3, 27008, 40}, false, false, 1, 1, beta);
    // Pairs of terms, in several passes where there are many rows. Whole numbers round to themselves.
    for (const i64 few : {8, 9, 22, 131}) check_thin(group, few, 1031, beta, Precision::bf16);
    check(group, {17, 40, 27001}, false, true, 1, 1, beta, Precision::bf16);
    check(group, {17, 27008, 41}, false, false, 1, 1, beta, Precision::bf16);
    check(group, {17, 33, 65}, false, true, 1, 1, beta, Precision::bf16);
  }
}

// An operand's rounding is off by 2^-9 of the value at most, on average by nothing: sums of positive terms show it.
TEST(KokkosLibrary, RoundedOperandsChangeProductsByTheirRounding) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  const i64 m = 20, n = 1056, k = 1000;
  const auto values = [](std::uint64_t key, i64 count) {
    std::vector<float> v(static_cast<std::size_t>(count));
    for (i64 i = 0; i < count; ++i) v[static_cast<std::size_t>(i)] = random_uniform(key, static_cast<std::uint64_t>(i));
    return v;
  };
  const auto a = values(1, m * k), b = values(2, n * k);
  const Device<float> of_a(group, a), of_b(group, b);
  Device<float> y(group, std::vector<float>(static_cast<std::size_t>(m * n)));
  MatrixLibrary::Gemm g;
  g.transpose_b = true, g.m = m, g.n = n, g.k = k, g.lda = g.ldb = k, g.ldy = n, g.operands = Precision::bf16;
  g.a = of_a.get(), g.b = of_b.get(), g.y = y.get();
  group.library()->gemm(g);
  const auto made = y.read();
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = 0;
      for (i64 t = 0; t < k; ++t)
        sum += double{a[static_cast<std::size_t>(i * k + t)]} * double{b[static_cast<std::size_t>(j * k + t)]};
      ASSERT_NEAR(made[static_cast<std::size_t>(i * n + j)], sum, 0x1p-11 * sum) << i << ", " << j;
    }
}

// NaN in what beta = 0 overwrites must not be read.
TEST(KokkosLibrary, ThinProductsDoNotReadWhatTheyOverwrite) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  const i64 n = 1024, all = n * n;
  const float none = std::numeric_limits<float>::quiet_NaN();
  const Device<float> ones(group, std::vector<float>(static_cast<std::size_t>(all), 1));
  Device<float> y(group, std::vector<float>(static_cast<std::size_t>(all), none));
  MatrixLibrary::Gemm g;
  g.m = 1, g.n = g.k = n, g.lda = g.ldb = g.ldy = n, g.transpose_b = true;
  g.a = g.b = ones.get(), g.y = y.get();
  group.library()->gemm(g);
  auto made = y.read();
  made.resize(static_cast<std::size_t>(n));
  EXPECT_EQ(made, std::vector<float>(static_cast<std::size_t>(n), 1024));
  g.m = n, g.k = 1, g.transpose_a = true, g.transpose_b = false;
  group.library()->gemm(g);
  EXPECT_EQ(y.read(), std::vector<float>(static_cast<std::size_t>(all), 1));
}

TEST(KokkosLibrary, CoreGroupsMultiplyAtTheSameTime) {
  const auto processor = kokkos_processor(2, 2);
  processor->run([](CoreGroup& group, GroupBarrier&) {
    check_all(group);
    check(group, {5, 1027, 1030}, false, true, 1, 1, 0);
  });
}

TEST(KokkosLibrary, AnEmptySumIsBetaTimesY) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  Device<float> y(group, {1, 2, 3, 4, 5, 6});
  MatrixLibrary::Gemm g;
  g.m = 2;
  g.n = 3;
  g.ldy = 3;
  g.beta = 2;
  g.a = g.b = g.y = y.get();
  group.library()->gemm(g);
  EXPECT_EQ(y.read(), (std::vector<float>{2, 4, 6, 8, 10, 12}));
}

}  // namespace
}  // namespace cortado::test::library_test
