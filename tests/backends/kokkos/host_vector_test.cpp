#include "backends/kokkos/host_vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace cortado::kokkos::host_vector_test {
namespace {

constexpr std::size_t lanes = vector_lanes;

/// Floats of all sizes, beside them some whose rounding is a tie, infinities, the smallest and the largest.
std::vector<float> floats() {
  std::vector<std::uint32_t> words = {0x00000000, 0x80000000, 0x00000001, 0x00008000, 0x00018000, 0x00800000,
                                      0x3F808000, 0x3F818000, 0xBF808001, 0x7F7FFFFF, 0x7F800000, 0xFF800000};
  std::uint32_t word = 1;
  while (words.size() < 4096) {
    word = word * 1664525u + 1013904223u;
    if ((word & 0x7F800000u) != 0x7F800000u) words.push_back(word);
  }
  std::vector<float> all(words.size());
  std::memcpy(all.data(), words.data(), words.size() * sizeof(float));
  return all;
}

std::uint16_t bits_of(float value) {
  // AVX-512's own rounding takes these as zeros.
#if defined(__AVX512BF16__)
  if (std::fabs(value) < 1.17549435e-38f) return std::signbit(value) ? 0x8000 : 0;
#endif
  return bf16(value).bits;
}

TEST(HostVector, RoundsAsBf16Does) {
  const std::vector<float> from = floats();
  std::vector<bf16> to(from.size());
  std::vector<float> back(from.size());
  for (std::size_t i = 0; i < from.size(); i += lanes) {
    store_vector(to.data() + i, load_vector(from.data() + i));
    store_vector(back.data() + i, load_vector(to.data() + i));
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(to[i].bits, bits_of(from[i])) << from[i];
    EXPECT_EQ(back[i], static_cast<float>(to[i])) << from[i];
  }
}

TEST(HostVector, NaNStaysNaN) {
  std::vector<float> from(lanes, 1.0f);
  from[lanes - 1] = std::nanf("");
  std::vector<bf16> to(lanes);
  store_vector(to.data(), load_vector(from.data()));
  EXPECT_EQ(static_cast<float>(to[0]), 1.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(to[lanes - 1])));
}

TEST(HostVector, PairsHoldBothRows) {
  const std::vector<float> values = floats();
  const float *const first = values.data() + 64, *const second = values.data() + 1024;
  std::vector<bf16> rows[2] = {std::vector<bf16>(2 * lanes), std::vector<bf16>(2 * lanes)};
  for (std::size_t i = 0; i < 2 * lanes; ++i) rows[0][i] = bf16(first[i]), rows[1][i] = bf16(second[i]);
  std::vector<bf16x2> rounded(lanes), loaded(lanes), alone(lanes), stored(2 * lanes);
  store_vector(rounded.data(), paired(load_vector(first), load_vector(second)));
  store_vector(loaded.data(), load_pairs(rows[0].data(), rows[1].data()));
  store_vector(alone.data(), load_pairs(rows[0].data(), nullptr));
  store_pairs(stored.data(), rows[0].data(), rows[1].data());
  for (std::size_t i = 0; i < 2 * lanes; ++i) {
    EXPECT_EQ(stored[i].first.bits, rows[0][i].bits);
    EXPECT_EQ(stored[i].second.bits, rows[1][i].bits);
    if (i >= lanes) continue;
    EXPECT_EQ(rounded[i].first.bits, bits_of(first[i]));
    EXPECT_EQ(rounded[i].second.bits, bits_of(second[i]));
    EXPECT_EQ(loaded[i].first.bits, rows[0][i].bits);
    EXPECT_EQ(loaded[i].second.bits, rows[1][i].bits);
    EXPECT_EQ(alone[i].first.bits, rows[0][i].bits);
    EXPECT_EQ(alone[i].second.bits, 0);
  }
}

TEST(HostVector, TransposesAndStreams) {
  constexpr i64 rows = vector_lanes + 3, cols = 2 * vector_lanes + 1;
  std::vector<float> from(rows * cols + vector_lanes);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  std::vector<float> to(cols * rows);
  transpose(from.data(), cols, rows, cols, to.data(), rows);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) ASSERT_EQ(to[c * rows + r], from[r * cols + c]) << r << ", " << c;

  alignas(64) float line[2 * vector_lanes] = {};
  stream_vector(line, load_vector(from.data() + 5));
  end_streams();
  for (std::size_t i = 0; i < 2 * lanes; ++i) EXPECT_EQ(line[i], i < lanes ? from[i + 5] : 0.0f);
}

}  // namespace
}  // namespace cortado::kokkos::host_vector_test
