#include "layers/transform/transform.h"

#include <cmath>

#include "core/base/error.h"
#include "layers/transform/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::transform_test {
namespace {

const Layout layouts[] = {Layout::nchw, Layout::hwcn, Layout::nhwc, Layout::nchw16c};

class TransformTest : public ::testing::TestWithParam<std::string> {
 protected:
  CoreGroup& group() { return group_of(GetParam()); }

  /// Runs the transform over an array of NaN, so that what is not written shows.
  std::vector<float> run(Layout from, Layout to, const Shape& shape, const std::vector<float>& x) {
    Blob in(group(), {floats_of(from, shape)}), out(group(), {floats_of(to, shape)});
    in.write_data(x.data());
    out.write_data(std::vector<float>(static_cast<std::size_t>(out.count()), std::nanf("")).data());
    transform(group(), from, to, shape, in.data(), out.mutable_data());
    group().wait();
    return out.data_vector();
  }
};

TEST_P(TransformTest, EveryLayoutIsTheOracleThereAndBack) {
  for (const Shape& shape : {Shape{1, 1, 1, 1}, Shape{2, 3, 5, 7}, Shape{1, 70, 13, 11}, Shape{130, 1, 9, 8},
                             Shape{33, 17, 7, 7}, Shape{128, 5, 1, 1}, Shape{3, 16, 65, 67}, Shape{67, 9, 1, 129},
                             Shape{16, 11, 3, 300}, Shape{5, 130, 2, 2}, Shape{2, 333, 5, 7}})
    for (const Layout layout : {Layout::hwcn, Layout::nchw16c, Layout::nhwc}) {
      SCOPED_TRACE(to_string(shape) + " " + to_string(layout));
      const auto x = noise_vector(1, count_of(shape));
      const auto y = run(Layout::nchw, layout, shape, x);
      EXPECT_EQ(y, oracle::transform(Layout::nchw, layout, shape, x));
      EXPECT_EQ(run(layout, Layout::nchw, shape, y), x);
    }
}

TEST_P(TransformTest, AnEmptyBatchIsNothing) { EXPECT_TRUE(run(Layout::nchw, Layout::hwcn, {0, 3, 4, 5}, {}).empty()); }

TEST_P(TransformTest, OneSideIsNchw) {
  for (const Layout from : layouts)
    for (const Layout to : layouts) {
      if ((from == Layout::nchw) != (to == Layout::nchw)) continue;
      EXPECT_THROW(transform<float>(group(), from, to, {1, 1, 1, 1}, nullptr, nullptr), PlanError);
    }
}

TEST(LayoutSizes, BlocksAreFilledUp) {
  EXPECT_EQ(floats_of(Layout::nhwc, {2, 9, 3, 5}), 2 * 9 * 15);
  EXPECT_EQ(floats_of(Layout::nchw16c, {2, 9, 3, 5}), 2 * 16 * 15);
  EXPECT_EQ(floats_of(Layout::nchw16c, {2, 16, 3, 5}), 2 * 16 * 15);
  EXPECT_EQ(floats_of(Layout::hwcn, {2, 9, 3, 5}), 2 * 9 * 15);
  EXPECT_EQ(oracle::place_of(Layout::nhwc, {2, 9, 3, 5}, 1, 8, 2, 4), (1 * 15 + 14) * 9 + 8);
  EXPECT_EQ(oracle::place_of(Layout::nchw16c, {2, 20, 3, 5}, 1, 18, 2, 4), ((1 * 2 + 1) * 15 + 14) * 16 + 2);
  EXPECT_EQ(oracle::place_of(Layout::hwcn, {2, 9, 3, 5}, 1, 8, 2, 4), (14 * 9 + 8) * 2 + 1);
}

INSTANTIATE_TEST_SUITE_P(Backends, TransformTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::transform_test
