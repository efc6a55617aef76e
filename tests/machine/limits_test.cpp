#include "core/machine/limits/limits.h"

#include <gtest/gtest.h>

#include "core/machine/limits/programs.h"
#include "tests/support/backends.h"

namespace cortado::test::limits_test {
namespace {

class Limits : public ::testing::TestWithParam<std::string> {};

TEST_P(Limits, MultiplyAddsDoTheWorkThatIsCounted) {
  CoreGroup& group = group_of(GetParam());
  const i64 lines = 3, length = 33, repeats = 2;
  const ClusterMemory y(group, lines * length * sizeof(float));
  PlanBuilder book(group.spec());
  const MultiplyAdds program{writes(book, "y", y.as<float>(), RowLines::whole(lines, length)), repeats, 0.99f, 2.0f};
  group.launch(program, book.plan(lines));
  std::vector<float> host(lines * length);
  group.copy(host.data(), y.get(), y.bytes());
  group.wait();
  for (i64 i = 0; i < lines * length; ++i) {
    float expected = 0;
    for (i64 chain = 0; chain < MultiplyAdds::chains; ++chain) {
      float v = static_cast<float>(i % length + chain);
      for (i64 r = 0; r < MultiplyAdds::rounds; ++r) v = v * 0.99f + 2.0f;
      expected += v;
    }
    ASSERT_NEAR(host[static_cast<std::size_t>(i)], expected, 1e-4f * expected) << "element " << i;
  }
}

TEST_P(Limits, AreOfThisWorld) {
  if (GetParam() == "lanes") GTEST_SKIP() << "several times the reference's time for the same code";
  CoreGroup& group = group_of(GetParam());
  if (group.spec().peak_flops > 0) GTEST_SKIP() << "the machine's description states them; nobody measures";
  const auto limits = measure_limits(group);
  EXPECT_GT(limits.flops, 1e6);
  EXPECT_LT(limits.flops, 1e16);
  EXPECT_GT(limits.bandwidth, 1e6);
  EXPECT_LT(limits.bandwidth, 1e15);
}

INSTANTIATE_TEST_SUITE_P(Backends, Limits, ::testing::ValuesIn(backend_names()));

}  // namespace
}  // namespace cortado::test::limits_test
