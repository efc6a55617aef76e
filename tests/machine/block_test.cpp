// Blocks that lanes fill and multiply, and what of a plan lies beside the scratchpad.
#include <gtest/gtest.h>

#include <array>

#include "tests/machine/gate_processor.h"
#include "tests/machine/programs.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::block_test {
namespace {

class BlockTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BlockTest, IsAnOperand) {
  const auto processor = gate_processor(GetParam());
  CoreGroup& group = processor->group(0);
  const MachineSpec& spec = group.spec();
  for (const auto& [m, n, k] : {std::array<i64, 3>{1, 1, 1}, {3, 5, 4}, {17, 33, 9}}) {
    const i64 rows = spec.mesh_rows * m, cols = spec.mesh_cols * n, terms = spec.mesh_cols * k;
    const auto a = noise_vector(1, rows * terms), b = noise_vector(2, terms * cols);
    Blob da(group, {rows, terms}), db(group, {terms, cols}), dy(group, {rows, cols});
    da.write_data(a.data());
    db.write_data(b.data());
    BlockProduct p{da.data(), db.data(), dy.mutable_data(), m, n, k, {}, {}, {}, {}, {}};
    PlanBuilder book(spec);
    p.a_buf = book.tile<float>("a", m * k, 1);
    p.b_buf = book.tile<float>("b", k * n, 1);
    p.left_buf = book.spill<float>("left", m * k);
    p.right_buf = book.spill<float>("right", k * n);
    p.acc_buf = book.tile<float>("sums", m * n, 1);
    group.launch(p, book.plan(1));
    const auto y = dy.data_vector();
    for (i64 i = 0; i < rows; ++i)
      for (i64 j = 0; j < cols; ++j) {
        double expected = 0;
        for (i64 t = 0; t < terms; ++t)
          expected += 6.0 * double(a[static_cast<std::size_t>(i * terms + t)]) *
                      double(b[static_cast<std::size_t>(t * cols + j)]);
        ASSERT_NEAR(y[static_cast<std::size_t>(i * cols + j)], expected, 1e-4) << i << ", " << j << " of " << m;
      }
  }
}

TEST_P(BlockTest, SpillsWhereCoresWorkFromCaches) {
  const MachineSpec& spec = group_of(GetParam()).spec();
  PlanBuilder book(spec);
  book.tile<float>("tile", 256, 1);
  const i64 left = book.left();
  const Buf large = book.spill<float>("large", spec.scratch_bytes / 2);
  const Buf next = book.tile<float>("next", 256, 1);
  EXPECT_GE(next.offset, large.offset + large.bytes);
  EXPECT_EQ(book.fits(), spec.works_from_caches());
  if (!spec.works_from_caches()) return;
  EXPECT_EQ(book.left(), left - 1024);
  const Plan plan = book.plan(1);
  EXPECT_EQ(plan.spilled_bytes, large.bytes);
  EXPECT_EQ(plan.scratch_bytes, 2048 + i64{large.bytes});
}

INSTANTIATE_TEST_SUITE_P(Backends, BlockTest, all_backends(), backend_name);
INSTANTIATE_TEST_SUITE_P(Further, BlockTest, more_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::block_test
