#include "comm/codec/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "comm/codec/beyond.h"
#include "core/base/bf16.h"
#include "core/base/error.h"
#include "tests/support/all_floats.h"
#include "tests/support/backends.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::codec_test {
namespace {

const i64 lengths[] = {0, 1, 2, 31, 33, 127, 128, 129, 255, 256, 257, 511, 513, 767, 768, 769, 1023, 1024, 1025, 3000};

class CodecTest : public ::testing::TestWithParam<std::string> {
 protected:
  ClusterMemory memory(const std::vector<float>& values) {
    ClusterMemory made(group_, values.size() * 4 + 128);
    group_.copy(made.get(), values.data(), values.size() * 4);
    group_.wait();
    return made;
  }
  std::vector<float> values_of(const ClusterMemory& from, i64 n) {
    std::vector<float> values(static_cast<std::size_t>(n));
    group_.copy(values.data(), from.get(), values.size() * 4);
    group_.wait();
    return values;
  }
  ClusterMemory encoded(const Codec& codec, const std::vector<float>& x, float* state = nullptr, float scale = 0) {
    const auto n = static_cast<i64>(x.size());
    const ClusterMemory from = memory(x);
    ClusterMemory code(group_, static_cast<std::size_t>(codec.encoded_bytes(n)));
    codec.encode(group_, from.as<float>(), n, state, code.get(), scale);
    group_.wait();
    return code;
  }
  /// What comes out after coding.
  std::vector<float> through(const Codec& codec, const std::vector<float>& x, float scale = 0) {
    const ClusterMemory state = memory(std::vector<float>(x.size()));
    const ClusterMemory code = encoded(codec, x, state.as<float>(), scale);
    const ClusterMemory y = memory(std::vector<float>(x.size(), 99));
    codec.decode(group_, code.get(), static_cast<i64>(x.size()), y.as<float>());
    return values_of(y, static_cast<i64>(x.size()));
  }
  CoreGroup& group_ = group_of(GetParam());
};

/// Values over eight decades, zeros among them.
std::vector<float> wide_values(i64 n, float largest) {
  std::vector<float> x;
  for (i64 i = 0; i < n; ++i)
    x.push_back(i % 17 == 5 ? 0.0f
                            : largest * std::pow(10.0f, -4 - 4 * noise(1, i)) * (noise(2, i) < 0 ? -1.0f : 1.0f));
  return x;
}

/// Every size that a type can give, for scale 1, sorted.
std::vector<double> sizes_of(const std::string& type) {
  std::vector<double> sizes;
  const auto decade = [](int n) { return std::pow(10.0, -n); };
  const auto leaf = [](int k, int leaves) { return 0.1 + 0.9 * (k + 0.5) / leaves; };
  if (type == "linear8")
    for (int k = 0; k < 128; ++k) sizes.push_back(k / 127.0);
  if (type == "mantissa8")
    for (int e = 0; e < 8; ++e)
      for (int m = 0; m < 16; ++m) sizes.push_back(m * decade(e + 1));
  if (type == "static_tree8") {
    for (int e = 0; e < 8; ++e)
      for (int k = e == 7 ? 1 : 0; k < 16; ++k) sizes.push_back(decade(e) * leaf(k, 16));
    sizes.push_back(0);
  }
  if (type == "dynamic_tree8") {
    for (int n = 0; n < 7; ++n)
      for (int k = 0; k < 1 << (6 - n); ++k) sizes.push_back(decade(n) * leaf(k, 1 << (6 - n)));
    sizes.push_back(0);
  }
  if (type == "fp16")
    for (int h = 0; h < 0x7C00; ++h)
      sizes.push_back(h < 0x400 ? std::ldexp(h, -24) : std::ldexp(0x400 + (h & 0x3FF), (h >> 10) - 25));
  for (int code = 0; type == "e4m3" && code < 0x7F; ++code)
    sizes.push_back(code < 8 ? std::ldexp(code, -9) : std::ldexp(8 + code % 8, code / 8 - 10));
  for (int code = 0; type == "e5m2" && code < 0x7C; ++code)
    sizes.push_back(code < 4 ? std::ldexp(code, -16) : std::ldexp(4 + code % 4, code / 4 - 17));
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

double nearest(const std::vector<double>& sizes, double size) {
  const auto above = std::lower_bound(sizes.begin(), sizes.end(), size);
  if (above == sizes.end()) return sizes.back();
  if (above == sizes.begin()) return *above;
  return *above - size < size - above[-1] ? *above : above[-1];
}

TEST_P(CodecTest, EightBitTypesAndHalvesGiveTheNearestValueOfTheirDefinition) {
  for (const char* name : {"linear8", "mantissa8", "static_tree8", "dynamic_tree8", "fp16", "e4m3", "e5m2"}) {
    const Codec& codec = find_codec(name);
    const std::vector<double> sizes = sizes_of(name);
    std::vector<float> x = wide_values(30000, 1);
    for (std::size_t i = 0; i + 1 < sizes.size() && std::string(name) != "fp16"; ++i)  // on both sides of every edge
      for (const double off : {-1e-6, 1e-6}) x.push_back(static_cast<float>((sizes[i] + sizes[i + 1]) / 2 * (1 + off)));
    const std::vector<float> y = through(codec, x, 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double size = std::abs(double{x[i]}), due = std::abs(nearest(sizes, size) - size);
      ASSERT_LE(std::abs(double{y[i]} - double{x[i]}), due * (1 + 1e-4) + 2e-7 * size) << name << " of " << x[i];
      ASSERT_TRUE(y[i] == 0 || std::signbit(y[i]) == std::signbit(x[i])) << name << " of " << x[i];
    }
  }
}

TEST_P(CodecTest, EveryValueOfATypeIsKept) {
  for (const char* name : {"linear8", "mantissa8", "static_tree8", "dynamic_tree8", "fp16", "e4m3", "e5m2"}) {
    std::vector<float> x;
    for (const double size : sizes_of(name)) x.insert(x.end(), {static_cast<float>(size), static_cast<float>(-size)});
    const std::vector<float> y = through(find_codec(name), x, 1);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 2e-7f * std::abs(x[i])) << name;
  }
}

TEST_P(CodecTest, Bf16AndFp32AreExactlyTheirs) {
  std::vector<float> x = wide_values(1300, 1e6f);
  const std::vector<float> all = floats_of_all_kinds();
  x.insert(x.end(), all.begin(), all.end());
  const auto same = through(find_codec("fp32"), x), halves = through(find_codec("bf16"), x);
  const auto bits = [](float value) {
    std::uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    return word;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(bits(same[i]), bits(x[i]));
    ASSERT_EQ(bits(halves[i]), std::uint32_t{bf16(x[i]).bits} << 16) << x[i];
  }
}

TEST_P(CodecTest, Fp16SaturatesAndRoundsToEven) {
  const std::vector<float> y =
      through(find_codec("fp16"), {1e6f, -1e6f, 65519.0f, 2049.0f, 2051.0f, 2.9802322e-8f, 8.9406967e-8f});
  EXPECT_EQ(y, (std::vector<float>{65504, -65504, 65504, 2048, 2052, 0, 1.1920929e-7f}));
}

TEST_P(CodecTest, ScalesFollowEachBlock) {
  for (const char* name : {"linear8", "mantissa8", "static_tree8", "dynamic_tree8"}) {
    std::vector<float> x = wide_values(3000, 1);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i < 1024 ? 1e-6f : 1e4f;
    const std::vector<float> y = through(find_codec(name), x);
    for (const std::size_t begin : {std::size_t{0}, std::size_t{1024}, std::size_t{2048}}) {
      float most = 0, error = 0;
      for (std::size_t i = begin; i < std::min(begin + 1024, x.size()); ++i) {
        most = std::max(most, std::abs(x[i]));
        error = std::max(error, std::abs(x[i] - y[i]));
      }
      // Mantissas step by a tenth of the decade, which may begin just above the largest value.
      EXPECT_LE(error, (std::string(name) == "mantissa8" ? 0.51f : 0.3f) * most) << name << " from " << begin;
    }
    EXPECT_EQ(through(find_codec(name), std::vector<float>(1030)), std::vector<float>(1030)) << name;
  }
}

/// A code of words, with scale 1: every byte's value by the definition, and that value's byte.
TEST_P(CodecTest, EveryByteOfSmallFloatsGoesThereAndBack) {
  constexpr i64 n = 256;
  for (const char* name : {"e4m3", "e5m2"}) {
    const Codec& codec = find_codec(name);
    const std::vector<double> sizes = sizes_of(name);
    constexpr std::size_t scales = 32, words = 128;  // value i of a block is byte i / 128 of word i % 128
    std::vector<float> code(scales + words, 1.0f);
    const auto byte_at = [&](std::size_t i) {
      return reinterpret_cast<unsigned char*>(&code[scales + i % words]) + i / words;
    };
    for (std::size_t i = 0; i < 2 * words; ++i) *byte_at(i) = static_cast<unsigned char>(i);
    for (std::size_t i = 2 * words; i < 4 * words; ++i) *byte_at(i) = 0;
    ASSERT_EQ(codec.encoded_bytes(n), static_cast<i64>(code.size()) * 4);
    const ClusterMemory from = memory(code), to = memory(std::vector<float>(n));
    codec.decode(group_, from.get(), n, to.as<float>());
    const auto values = values_of(to, n);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t size = i % 128;
      EXPECT_EQ(std::signbit(values[i]), i >= 128) << name << " " << i;
      if (size < sizes.size())
        EXPECT_EQ(std::abs(values[i]), static_cast<float>(sizes[size])) << name << " " << i;
      else if (std::string(name) == "e5m2" && size == 0x7C)
        EXPECT_TRUE(std::isinf(values[i]));
      else
        EXPECT_TRUE(std::isnan(values[i])) << name << " " << i;
    }
    const ClusterMemory again = encoded(codec, values, nullptr, 1);
    std::vector<float> back(code.size());
    group_.copy(back.data(), again.get(), back.size() * 4);
    group_.wait();
    code.swap(back);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(*byte_at(i), std::isnan(values[i]) ? i | 0x7F : i) << name;
  }
}

TEST_P(CodecTest, SmallFloatsSaturateOnlyByAGivenScale) {
  for (const auto& [name, most] : {std::pair<const char*, float>{"e4m3", 448.0f}, {"e5m2", 57344.0f}}) {
    EXPECT_EQ(through(find_codec(name), {1e6f, -1e6f, most, 3e38f, most * 1.06f, 2 * most}, 1),
              (std::vector<float>{most, -most, most, most, most, most}));
    for (float size = 1e-28f; size < 3e38f; size *= 1.37f) {
      const float error = std::string(name) == "e4m3" ? size / 16 : size / 8;
      EXPECT_NEAR(through(find_codec(name), {size, -size / 3})[0], size, error) << name;
    }
  }
}

TEST_P(CodecTest, SmallFloatsKeepWhatIsNoNumberApart) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* name : {"e4m3", "e5m2"})
    for (const float bad : {nan, -nan, infinity, -infinity}) {
      std::vector<float> x = wide_values(700, 1e3f);
      const auto good = through(find_codec(name), x);
      x[300] = bad;
      auto y = through(find_codec(name), x);
      if (std::string(name) == "e5m2" && std::isinf(bad))
        EXPECT_EQ(y[300], bad);
      else
        EXPECT_TRUE(std::isnan(y[300]));
      y[300] = good[300];
      EXPECT_EQ(y, good) << name << " " << bad;
    }
}

TEST_P(CodecTest, SmallFloatsHaveAScaleForEach128) {
  for (const char* name : {"e4m3", "e5m2"}) {
    std::vector<float> x = noise_vector(8, 1500);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i / 128 % 2 == 0 ? 1e-9f : 1e9f;
    const auto y = through(find_codec(name), x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float run = i / 128 % 2 == 0 ? 1e-9f : 1e9f;
      ASSERT_NEAR(y[i], x[i], std::abs(x[i]) / (std::string(name) == "e4m3" ? 16 : 8) + run * 1e-5f) << name << i;
    }
    EXPECT_EQ(through(find_codec(name), std::vector<float>(600)), std::vector<float>(600)) << name;
  }
}

TEST_P(CodecTest, ThreeInOneKeepsSixBitsAndPicksTheBaseByTheLargest) {
  // Groups are values j, j + 256, j + 512 of a block.
  std::vector<float> x(768);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = std::ldexp(1 + 0.9f * std::abs(noise(3, static_cast<i64>(i))), i % 256 % 2 == 0 ? -3 : -20) *
           (i % 5 == 0 ? -1.0f : 1.0f);
  x[2] = 0.5f, x[258] = std::ldexp(1.0f, -20), x[514] = 0;            // one large value decides
  x[4] = 5.0f, x[260] = 0.9f * std::ldexp(1.0f, -15), x[516] = 1.0f;  // saturated; nearest to 1.03 2^-15
  x[7] = std::ldexp(1.002f, -15), x[263] = std::ldexp(1.5f, -17), x[519] = std::ldexp(1.0f, -40);
  const std::vector<float> y = through(find_codec("three_in_one"), x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t group = i % 256;
    if (group == 2 || group == 4 || group == 7) continue;
    ASSERT_NEAR(y[i], x[i], std::abs(x[i]) / 64) << i;
  }
  EXPECT_EQ(y[2], 0.5f);
  EXPECT_EQ(y[258], 0);
  EXPECT_EQ(y[514], 0);
  EXPECT_EQ(y[4], 1.96875f);
  EXPECT_EQ(y[260], std::ldexp(1.03125f, -15));
  EXPECT_EQ(y[516], 1);
  EXPECT_EQ(y[7], std::ldexp(1.96875f, -16));  // the small base, whose largest value is nearer than 1.03 2^-15
  EXPECT_EQ(y[263], std::ldexp(1.5f, -17));
  EXPECT_EQ(y[519], 0);
}

TEST_P(CodecTest, NothingIsLostWhereStateIsKept) {
  for (const char* name : {"one_bit", "threshold"}) {
    const Codec& codec = find_codec(name);
    ASSERT_TRUE(codec.needs_state());
    for (const i64 n : {1, 1000, 2100}) {
      const ClusterMemory state = memory(std::vector<float>(static_cast<std::size_t>(n)));
      const ClusterMemory sum = memory(std::vector<float>(static_cast<std::size_t>(n)));
      std::vector<float> given(static_cast<std::size_t>(n));
      for (std::uint64_t round = 0; round < 5; ++round) {
        const std::vector<float> x = noise_vector(round, n);
        for (std::size_t i = 0; i < x.size(); ++i) given[i] += x[i];
        const ClusterMemory code = encoded(codec, x, state.as<float>());
        codec.decode_add(group_, code.get(), n, sum.as<float>());
      }
      std::vector<float> kept = values_of(state, n);
      const std::vector<float> sent = values_of(sum, n);
      for (std::size_t i = 0; i < kept.size(); ++i) kept[i] += sent[i];
      expect_near(kept, given, 1e-5f, 0);
      EXPECT_TRUE(n == 1 || sent != given) << name;
    }
  }
}

TEST_P(CodecTest, OneBitSendsTheMeanAndTheMeanDistanceFromIt) {
  EXPECT_EQ(through(find_codec("one_bit"), {2, 4, -1, -1}), (std::vector<float>{3, 3, -1, -1}));
  EXPECT_EQ(through(find_codec("one_bit"), {5, 5, 5}), (std::vector<float>{5, 5, 5}));
}

TEST_P(CodecTest, ThresholdSendsWhatIsBeyondHalfOfIt) {
  const Codec& codec = find_codec("threshold");
  EXPECT_EQ(through(codec, {1, 3, -2, -6, 0, 1.125f}, 2), (std::vector<float>{0, 2, -2, -2, 0, 2}));
  EXPECT_EQ(through(codec, {0, 0, -4, 0}), (std::vector<float>{0, 0, -1.75f, 0}));
}

TEST_P(CodecTest, RunsWithinABlockHaveTheirOwnScales) {
  constexpr std::size_t run = 64;
  for (const char* name : {"one_bit", "threshold"}) {
    std::vector<float> x = noise_vector(4, 1500);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i / run % 2 == 0 ? 1e-4f : 1e4f;
    const std::vector<float> y = through(find_codec(name), x);
    for (std::size_t begin = 0; begin < x.size(); begin += run) {
      double size = 0, error = 0;
      for (std::size_t i = begin; i < std::min(begin + run, x.size()); ++i) {
        size += std::abs(double{x[i]});
        error += std::abs(double{x[i]} - double{y[i]});
      }
      EXPECT_LT(error, 0.65 * size) << name << " from " << begin;
    }
  }
}

TEST_P(CodecTest, AnyLengthAndAddingIsDecodingPlus) {
  for (const Codec* const codec : codecs())
    for (const i64 n : lengths) {
      const std::vector<float> x = wide_values(n, 1), old = noise_vector(7, n);
      const ClusterMemory state = memory(std::vector<float>(x.size())), y = memory(old);
      const ClusterMemory code = encoded(*codec, x, state.as<float>());
      codec->decode_add(group_, code.get(), n, y.as<float>());
      std::vector<float> due = through(*codec, x);
      for (std::size_t i = 0; i < due.size(); ++i) due[i] = old[i] + due[i];
      expect_near(values_of(y, n), due, 1e-6f, 1e-6f);
      EXPECT_EQ(n == 0, codec->encoded_bytes(n) == 0) << codec->name();
    }
}

TEST_P(CodecTest, BlocksDoNotDependOnEachOther) {
  for (const Codec* const codec : codecs()) {
    const std::vector<float> x = wide_values(3 * codec->block() + 5, 1);
    const auto whole = through(*codec, x);
    const auto part = through(*codec, {x.begin() + codec->block(), x.end()});
    for (std::size_t i = 0; i < part.size(); ++i)
      ASSERT_EQ(part[i], whole[i + static_cast<std::size_t>(codec->block())]) << codec->name();
  }
}

TEST_P(CodecTest, SizesAreWhatTheTypesPromise) {
  const i64 n = i64{1} << 20;
  const auto ratio = [&](const char* name) {
    return 4.0 * static_cast<double>(n) / static_cast<double>(find_codec(name).encoded_bytes(n));
  };
  EXPECT_EQ(ratio("fp32"), 1);
  EXPECT_EQ(ratio("bf16"), 2);
  EXPECT_NEAR(ratio("linear8"), 4, 0.05);
  EXPECT_NEAR(ratio("e4m3"), 32 / 8.25, 0.01);
  EXPECT_NEAR(ratio("e5m2"), 32 / 8.25, 0.01);
  EXPECT_NEAR(ratio("three_in_one"), 3, 0.01);
  EXPECT_NEAR(ratio("threshold"), 32 / 2.5, 0.01);
  EXPECT_NEAR(ratio("one_bit"), 32 / 1.5, 0.01);
  EXPECT_THROW(find_codec("two_bit"), ConfigError);
}

TEST_P(CodecTest, ValuesBeyondALimitAreFoundInTheirSet) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const i64 longest = 9000;  // several lines
  const auto count = [](i64 n) { return static_cast<std::size_t>(n); };
  for (const float bad : {2.0f, -2.0f, infinity, -infinity, nan, 1.9999999f})
    for (const i64 n : {i64{1}, i64{33}, longest})
      for (const i64 at : {i64{0}, n / 2, n - 1}) {
        auto x = noise_vector(5, n);
        x[count(at)] = bad;
        const ClusterMemory with = memory(x), without = memory(noise_vector(6, longest));
        const std::vector<ClusterValues> sets = {
            {without.as<float>(), longest}, {nullptr, 0}, {with.as<float>(), n}, {without.as<float>(), n}};
        const bool is_beyond_2 = bad != 1.9999999f, is_infinite = !std::isfinite(bad);
        EXPECT_EQ(any_beyond(group_, sets, 2), (std::vector<bool>{false, false, is_beyond_2, false})) << bad;
        EXPECT_EQ(any_beyond(group_, sets, infinity), (std::vector<bool>{false, false, is_infinite, false})) << bad;
      }
  EXPECT_EQ(any_beyond(group_, {}, 2), std::vector<bool>());
  EXPECT_EQ(any_beyond(group_, {{nullptr, 0}}, 2), std::vector<bool>(1));
}

INSTANTIATE_TEST_SUITE_P(Backends, CodecTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::codec_test
