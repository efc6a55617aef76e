#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backends/kokkos/host_multiply.h"
#include "backends/kokkos/unit_multiply.h"

namespace cortado::kokkos::matrix_unit_test {
namespace {

/// The matrix unit as Intel's manual describes it, with its reasons to refuse an instruction.
struct ModelOfUnit {
  static void configure(const TileRegisters& registers) {
    EXPECT_EQ(registers.palette, 1);
    EXPECT_EQ(registers.start_row, 0);
    for (const auto byte : registers.reserved) EXPECT_EQ(byte, 0);
    for (int t = 0; t < 16; ++t) {
      EXPECT_LE(registers.rows[t], t < 8 ? 16 : 0);
      EXPECT_LE(registers.row_bytes[t], t < 8 ? 64 : 0);
      EXPECT_EQ(registers.rows[t] == 0, registers.row_bytes[t] == 0);
    }
    if (std::memcmp(&shapes, &registers, sizeof shapes) == 0) return;
    shapes = registers;
    std::memset(words, 0, sizeof words);
  }
  template <int tile>
  static void load(const void* from, i64 pitch) {
    expect_is_set(tile);
    std::memset(words[tile], 0, sizeof words[tile]);
    for (int r = 0; r < shapes.rows[tile]; ++r)
      std::memcpy(words[tile][r], static_cast<const char*>(from) + r * pitch, shapes.row_bytes[tile]);
  }
  template <int tile>
  static void store(void* to, i64 pitch) {
    expect_is_set(tile);
    for (int r = 0; r < shapes.rows[tile]; ++r)
      std::memcpy(static_cast<char*>(to) + r * pitch, words[tile][r], shapes.row_bytes[tile]);
  }
  template <int sums, int a, int b>
  static void multiply() {
    for (const int tile : {sums, a, b}) expect_is_set(tile);
    EXPECT_EQ(shapes.rows[sums], shapes.rows[a]);
    EXPECT_EQ(shapes.row_bytes[sums], shapes.row_bytes[b]);
    EXPECT_EQ(shapes.row_bytes[a], 4 * shapes.rows[b]);
    for (int m = 0; m < shapes.rows[sums]; ++m)
      for (int k = 0; k < shapes.rows[b]; ++k)
        for (int n = 0; n < shapes.row_bytes[sums] / 4; ++n) {
          const auto x = read<bf16x2>(a, m, k), y = read<bf16x2>(b, k, n);
          const float sum = read<float>(sums, m, n) + static_cast<float>(x.first) * static_cast<float>(y.first) +
                            static_cast<float>(x.second) * static_cast<float>(y.second);
          std::memcpy(&words[sums][m][n], &sum, sizeof sum);
        }
  }

 private:
  static void expect_is_set(int tile) { EXPECT_GT(shapes.rows[tile], 0) << "register " << tile; }
  template <class T>
  static T read(int tile, int row, int column) {
    T value;
    std::memcpy(&value, &words[tile][row][column], sizeof value);
    return value;
  }

  static inline TileRegisters shapes{0};
  static inline std::uint32_t words[8][16][16];
};

using Multiply = void (*)(const Acc<float>&, const LeftOperand<bf16x2>&, const RightOperand<bf16x2>&, const Taps&);
struct Way {
  const char* name;
  Multiply multiply;
};

/// What host_multiply takes by itself; where vectors are as wide as tiles, the model, and the processor's own unit if
/// it has one.
std::vector<Way> ways() {
  std::vector<Way> all = {{"host_multiply", &host_multiply}};
  if constexpr (vector_lanes == tile_lanes) {
    all.push_back({"model", &unit_multiply<ModelOfUnit>});
#if defined(__x86_64__)
    if (Amx::available()) all.push_back({"AMX", &unit_multiply<Amx>});
#endif
  }
  return all;
}

/// How a product's operands lie.
struct Case {
  i64 m, k;
  i64 n1, n0;  ///< columns
  LeftView a;
  Taps taps;
  i64 gap = 0;  ///< between columns' runs in B
};

std::string text(const Case& c) {
  return "m " + std::to_string(c.m) + " k " + std::to_string(c.k) + " n " + std::to_string(c.n1) + " x " +
         std::to_string(c.n0) + " strides of A " + std::to_string(c.a.m_stride) + ", " + std::to_string(c.a.k_stride) +
         " taps " + std::to_string(c.taps.count1) + " x " + std::to_string(c.taps.count0);
}

/// Small whole numbers, so that sums are exact in every order.
std::vector<bf16x2> numbers(i64 count, int seed) {
  std::vector<bf16x2> all(static_cast<std::size_t>(count));
  for (auto& pair : all) {
    seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF;
    pair = {bf16(static_cast<float>(seed >> 16 & 7) - 3), bf16(static_cast<float>(seed >> 20 & 7) - 4)};
  }
  return all;
}

void expect_product(const Case& c) {
  SCOPED_TRACE(text(c));
  TileShape shape;
  shape.m = c.m, shape.k = c.k, shape.n1 = c.n1, shape.n0 = c.n0;
  const RightView view{c.n1 * (c.n0 + c.gap), 0, c.n0 + c.gap, 1};
  ASSERT_TRUE(vector_lanes != tile_lanes || fills_tiles(shape, view));
  const Taps& t = c.taps;
  const i64 slack = vector_lanes, n = shape.n();
  const auto reach = [&](i64 last) { return last + 1 + slack; };
  const auto a = numbers(
      reach(t.a + (t.count1 - 1) * t.a1 + (t.count0 - 1) * t.a0 + (c.m - 1) * c.a.m_stride + (c.k - 1) * c.a.k_stride),
      1);
  const auto b = numbers(
      reach(t.b + (t.count1 - 1) * t.b1 + (t.count0 - 1) * t.b0 + (c.k - 1) * view.k_stride + view.k_stride - 1), 2);
  std::vector<float> before(static_cast<std::size_t>(c.m * n + slack)), expected = before;
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = static_cast<float>(i % 13);
  expected = before;
  const auto at = [](const std::vector<bf16x2>& all, i64 i) { return all[static_cast<std::size_t>(i)]; };
  for (i64 m = 0; m < c.m; ++m)
    for (i64 i = 0; i < n; ++i)
      for (i64 t1 = 0; t1 < t.count1; ++t1)
        for (i64 t0 = 0; t0 < t.count0; ++t0)
          for (i64 k = 0; k < c.k; ++k) {
            const auto x = at(a, t.a + t1 * t.a1 + t0 * t.a0 + m * c.a.m_stride + k * c.a.k_stride);
            const auto y =
                at(b, t.b + t1 * t.b1 + t0 * t.b0 + k * view.k_stride + i / c.n0 * view.n1_stride + i % c.n0);
            expected[static_cast<std::size_t>(m * n + i)] +=
                static_cast<float>(x.first) * static_cast<float>(y.first) +
                static_cast<float>(x.second) * static_cast<float>(y.second);
          }
  for (const Way& way : ways()) {
    std::vector<float> sums = before;
    way.multiply({sums.data(), shape}, {a.data(), c.a}, {b.data(), view}, t);
    EXPECT_EQ(sums, expected) << way.name;
  }
}

TEST(MatrixUnit, EveryCountOfRowsAndTerms) {
  for (i64 m = 1; m <= 66; ++m)
    for (const i64 k : {1, 7, 8, 15, 16, 17, 24, 32, 40}) expect_product({m, k, 1, 32, {k, 1}, {}});
}

TEST(MatrixUnit, EveryCountOfColumns) {
  for (const i64 n0 : {16, 32, 48, 64, 80})
    for (const i64 n1 : {1, 2, 3})
      for (const i64 gap : {0, 16, 5}) expect_product({20, 24, n1, n0, {24, 1}, {}, gap});
}

TEST(MatrixUnit, RowsThatLieApartOrTurned) {
  for (const i64 m : {1, 5, 14, 16, 28, 31, 49})
    for (const i64 k : {3, 8, 16, 20, 56}) {
      expect_product({m, k, 2, 16, {64, 1}, {}});   // pixels of blocks
      expect_product({m, k, 2, 16, {1, 100}, {}});  // planes, or channels of weight gradients
      expect_product({m, k, 2, 16, {2, 200}, {}});  // planes at stride two
      expect_product({m, k, 2, 16, {0, 1}, {}});    // one row for all
    }
}

TEST(MatrixUnit, Taps) {
  Taps taps;
  taps.count1 = 2, taps.count0 = 3;
  taps.a = 5, taps.a1 = 40, taps.a0 = 8, taps.b = 32, taps.b1 = 24 * 32 * 3, taps.b0 = 24 * 32;
  for (const i64 m : {1, 7, 17, 30}) {
    expect_product({m, 24, 1, 32, {8, 1}, taps});
    expect_product({m, 24, 1, 32, {1, 50}, taps});
  }
  taps.count0 = 0;
  expect_product({7, 24, 1, 32, {8, 1}, taps});
}

// As thin products have them.
TEST(MatrixUnit, PartsOfWiderMatrices) {
  constexpr i64 m = 19, n = 3 * vector_lanes, lda = 30, ldb = n + 32, ldy = n + 16;
  const auto b = numbers(40 * ldb, 2), all_a = numbers(m * lda + vector_lanes, 1);
  for (const LeftView view : {LeftView{lda, 1}, LeftView{1, lda}})
    for (const i64 k : {1, 16, 19}) {
      const std::vector<float> before(static_cast<std::size_t>(m * ldy), 7.0f);
      std::vector<float> products = before, sums = before;
      for (i64 i = 0; i < m; ++i)
        for (i64 j = 0; j < n; ++j) {
          float& product = products[static_cast<std::size_t>(i * ldy + j)] = 0;
          for (i64 t = 0; t < k; ++t) {
            const auto x = all_a[static_cast<std::size_t>(i * view.m_stride + t * view.k_stride)];
            const auto y = b[static_cast<std::size_t>(t * ldb + j)];
            product += static_cast<float>(x.first) * static_cast<float>(y.first) +
                       static_cast<float>(x.second) * static_cast<float>(y.second);
          }
          sums[static_cast<std::size_t>(i * ldy + j)] += product;
        }
      auto y = before;
      host_multiply(m, n, k, all_a.data(), view, b.data(), ldb, y.data(), ldy);
      EXPECT_EQ(y, sums);
      host_product(m, n, k, all_a.data(), view, b.data(), ldb, y.data(), ldy);
      EXPECT_EQ(y, products);
      if constexpr (vector_lanes == tile_lanes) {
        y = before;
        const auto vector = [](i64 i) { return VectorColumns{i * tile_lanes, i * tile_lanes, tile_lanes}; };
        unit_multiply<ModelOfUnit>({y.data(), ldy, all_a.data(), view, b.data(), ldb, k, {}}, m, n / tile_lanes,
                                   vector);
        EXPECT_EQ(y, sums);
      }
    }
}

TEST(MatrixUnit, LeavesColumnsThatDoNotFillItToVectors) {
  TileShape shape;
  shape.m = 4, shape.k = 4, shape.n1 = 2, shape.n0 = 20;
  EXPECT_FALSE(fills_tiles(shape, {40, 0, 20, 1})) << "the last vector is half empty";
  EXPECT_FALSE(fills_tiles(shape, {64, 0, 32, 1})) << "every second vector is";
  shape.n0 = 16;
  EXPECT_FALSE(fills_tiles(shape, {64, 0, 32, 2})) << "its elements lie apart";
}

TEST(MatrixUnit, TilesTakeEqualRowsWherePossible) {
  EXPECT_EQ(rows_to_tile(7), 7);
  EXPECT_EQ(rows_to_tile(28), 14);
  EXPECT_EQ(rows_to_tile(56), 14);
  EXPECT_EQ(rows_to_tile(224), 16);
  EXPECT_EQ(rows_to_tile(29), 16);
}

}  // namespace
}  // namespace cortado::kokkos::matrix_unit_test
