#include "core/machine/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/random.h"

namespace cortado::math_test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float smallest = std::numeric_limits<float>::denorm_min();
constexpr float largest = std::numeric_limits<float>::max();

/// Distance from the exact value in units of the last place of a float of that size.
double ulps(float value, double exact) {
  if (static_cast<double>(value) == exact || value == static_cast<float>(exact)) return 0;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(value - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// Every `stride`-th bit pattern that is a number.
template <class F>
void for_floats(std::uint64_t stride, F f) {
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += stride) {
    const float x = math::detail::bits_as<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(x)) f(x);
  }
}

TEST(Math, ExpIsWithinTwoUlpOverTheWholeRange) {
  double worst = 0;
  for_floats(997, [&](float x) {
    const double exact = std::exp(static_cast<double>(x));
    if (std::isinf(static_cast<float>(exact)))
      EXPECT_EQ(math::exp(x), inf) << x;
    else
      worst = std::max(worst, ulps(math::exp(x), exact));
  });
  EXPECT_LE(worst, 2.0);
}

TEST(Math, ExpAtItsEnds) {
  EXPECT_EQ(math::exp(0.0f), 1.0f);
  EXPECT_EQ(math::exp(inf), inf);
  EXPECT_EQ(math::exp(-inf), 0.0f);
  EXPECT_EQ(math::exp(largest), inf);
  EXPECT_EQ(math::exp(-largest), 0.0f);
  EXPECT_EQ(math::exp(88.73f), inf);
  EXPECT_LT(math::exp(88.72f), inf);
  EXPECT_EQ(math::exp(-103.0f), smallest);  // gradual underflow
  EXPECT_EQ(math::exp(-104.0f), 0.0f);
  EXPECT_TRUE(std::isnan(math::exp(nan)));
}

TEST(Math, LogIsWithinThreeUlpOverTheWholeRange) {
  double worst = 0;
  for_floats(997, [&](float x) {
    if (x > 0 && x < inf) worst = std::max(worst, ulps(math::log(x), std::log(static_cast<double>(x))));
  });
  // Around 1 the result is small: every float there.
  for (float x = 0.99f; x < 1.01f; x = std::nextafter(x, 2.0f))
    worst = std::max(worst, ulps(math::log(x), std::log(static_cast<double>(x))));
  EXPECT_LE(worst, 3.0);
}

TEST(Math, LogAtItsEnds) {
  EXPECT_EQ(math::log(1.0f), 0.0f);
  EXPECT_EQ(math::log(0.0f), -inf);
  EXPECT_EQ(math::log(-0.0f), -inf);
  EXPECT_EQ(math::log(inf), inf);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)));
  EXPECT_TRUE(std::isnan(math::log(-inf)));
  EXPECT_TRUE(std::isnan(math::log(nan)));
  EXPECT_LE(ulps(math::log(smallest), std::log(static_cast<double>(smallest))), 3.0);
}

TEST(Math, CosOfTurn) {
  for (std::uint64_t i = 0; i <= 1000000; ++i) {
    const double x = static_cast<double>(i) / 1e6, turn = 6.283185307179586;
    ASSERT_NEAR(math::cos_of_turn(static_cast<float>(x)), std::cos(turn * double{static_cast<float>(x)}), 5e-7) << x;
  }
}

TEST(Math, PowIsWithinOneUlp) {
  double worst = 0;
  for (std::uint64_t i = 0; i < 1000000; ++i) {
    const float x = std::exp(174 * random_uniform(1, i) - 87), y = 80 * random_uniform(2, i) - 40;
    const double exact = std::pow(static_cast<double>(x), static_cast<double>(y));
    if (std::isinf(static_cast<float>(exact)))
      EXPECT_EQ(math::pow(x, y), inf) << x << " " << y;
    else
      worst = std::max(worst, ulps(math::pow(x, y), exact));
  }
  EXPECT_LE(worst, 1.0);
}

TEST(Math, PowOfSpecialValuesIsThatOfTheStandard) {
  for (const float x : {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 0.5f, -0.5f, -3.0f, inf, -inf, nan, smallest, -smallest})
    for (const float y : {0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 3.0f, -3.0f, 0.5f, -0.5f, 1.5f, -0.75f}) {
      const float value = math::pow(x, y), expected = std::pow(x, y);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(value)) << x << " to the power of " << y;
      } else {
        EXPECT_EQ(value, expected) << x << " to the power of " << y;
        EXPECT_EQ(std::signbit(value), std::signbit(expected)) << x << " to the power of " << y;
      }
    }
}

TEST(Math, SelectsTakeTheirFirstArgumentForNan) {
  EXPECT_TRUE(std::isnan(math::max(nan, 1.0f)));
  EXPECT_EQ(math::max(1.0f, nan), 1.0f);
  EXPECT_EQ(math::min(2, 3), 2);
  EXPECT_EQ(math::select(false, 1, 2), 2);
}

}  // namespace
}  // namespace cortado::math_test
