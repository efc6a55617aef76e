#include "backends/kokkos/host_vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/support/all_floats.h"

namespace cortado::kokkos::host_vector_test {
namespace {

constexpr std::size_t lanes = vector_lanes;

std::uint16_t bits_of(float value) {
  // AVX-512's own rounding takes these as zeros.
#if defined(__AVX512BF16__)
  if (std::fabs(value) < 1.17549435e-38f) return std::signbit(value) ? 0x8000 : 0;
#endif
  return bf16(value).bits;
}

TEST(HostVector, RoundsAsBf16Does) {
  const std::vector<float> from = test::floats_of_all_kinds();
  std::vector<bf16> to(from.size());
  std::vector<float> back(from.size());
  for (std::size_t i = 0; i < from.size(); i += lanes) {
    store_vector(to.data() + i, load_vector(from.data() + i));
    store_vector(back.data() + i, load_vector(to.data() + i));
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(to[i].bits, bits_of(from[i])) << from[i];
    ASSERT_EQ(bf16(back[i]).bits, to[i].bits) << from[i];
  }
}

TEST(HostVector, PairsHoldBothRows) {
  const std::vector<float> values = test::floats_of_all_kinds();  // first: around 1, second: small ones below 0
  const float *const first = values.data() + 8 * 0x3F7F, *const second = values.data() + 8 * 0x8080;
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
