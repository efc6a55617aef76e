#include "layers/pooling/pooling.h"

#include "core/base/error.h"
#include "layers/pooling/oracle.h"
#include "layers/pooling/plan.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::pooling_test {
namespace {

class PoolingTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, PoolingTest, all_backends(), backend_name);

/// Window (height, width) of a case, and the output size that Caffe computes.
struct Case {
  const char* text;
  i64 n, channels;
  int h, w, kh, kw, sh, sw, ph, pw, oh, ow;
  PoolShape shape() const { return {n * channels, h, w, oh, ow, kh, kw, sh, sw, ph, pw}; }
};

const Case cases[] = {
    {"kernel_size: 2 stride: 2", 2, 3, 24, 24, 2, 2, 2, 2, 0, 0, 12, 12},
    {"kernel_size: 3 stride: 2", 1, 1, 8, 8, 3, 3, 2, 2, 0, 0, 4, 4},  // the last window hangs over the edge
    {"kernel_size: 3 stride: 2 round_mode: FLOOR", 1, 2, 8, 9, 3, 3, 2, 2, 0, 0, 3, 4},
    {"kernel_size: 3 stride: 2 pad: 1", 3, 1, 7, 6, 3, 3, 2, 2, 1, 1, 4, 4},
    {"kernel_size: 2 stride: 2 pad: 1", 1, 3, 5, 4, 2, 2, 2, 2, 1, 1, 3, 3},  // a window in the padding is dropped
    {"kernel_size: 5 stride: 3 pad: 2", 2, 2, 11, 14, 5, 5, 3, 3, 2, 2, 5, 6},
    {"kernel_size: 3 stride: 1 pad: 1", 1, 2, 40, 37, 3, 3, 1, 1, 1, 1, 40, 37},
    {"kernel_h: 2 kernel_w: 5 stride_h: 1 stride_w: 3 pad_h: 0 pad_w: 2", 1, 2, 9, 13, 2, 5, 1, 3, 0, 2, 8, 5},
    {"kernel_size: 1 stride: 2", 2, 1, 5, 7, 1, 1, 2, 2, 0, 0, 3, 4},  // stride beyond the kernel
    {"kernel_size: 3 stride: 2", 1, 1, 2, 2, 3, 3, 2, 2, 0, 0, 1, 1},  // window larger than the plane
    {"kernel_size: 3 stride: 2", 1, 2, 150, 131, 3, 3, 2, 2, 0, 0, 75, 65},
    {"global_pooling: true", 3, 5, 7, 6, 7, 6, 1, 1, 0, 0, 1, 1},
    {"kernel_size: 3 stride: 2", 3, 11, 17, 9, 3, 3, 2, 2, 0, 0, 8, 4},  // 33 planes
    {"kernel_size: 3 pad: 1", 1, 32, 14, 14, 3, 3, 1, 1, 1, 1, 14, 14},
};

std::string layer_text(const char* pool, const Case& c) {
  return std::string("name: 'p' type: 'Pooling' pooling_param { pool: ") + pool + " " + c.text + " }";
}

/// Few distinct values, so that maxima are often shared.
float coarse(i64 i) { return std::floor(3 * noise(7, i)); }

/// Calls work(rig, case) for every case by every plan that can run it.
template <class F>
void for_plans(const std::string& backend, const char* pool, int tops, F work) {
  for (const Case& c : cases)
    for (const char* plan : {"rows", "windows", "planes"}) {
      LayerRig rig(backend, layer_text(pool, c), {{c.n, c.channels, c.h, c.w}}, tops);
      PlanBook wanted;
      for (const auto& option : rig.layer().plan_options())
        if (option.candidate == plan && option.refused.empty()) wanted[option.direction] = plan;
      if (wanted.empty()) continue;
      SCOPED_TRACE(layer_text(pool, c) + " by " + plan);
      rig.layer().choose_plans(wanted);
      work(rig, c);
      for (const auto& [direction, name] : wanted) EXPECT_EQ(rig.layer().plans().at(direction), name);
    }
}

TEST_P(PoolingTest, MaxMatchesOracle) {
  for_plans(GetParam(), "MAX", 2, [](LayerRig& rig, const Case& c) {
    rig.fill_bottom(0, coarse);
    rig.forward();
    ASSERT_EQ(rig.top(0).shape(), (Shape{c.n, c.channels, c.oh, c.ow}));
    std::vector<float> y;
    std::vector<i64> mask;
    oracle::max_pool(c.shape(), rig.bottom(0).data_vector().data(), y, mask);
    EXPECT_EQ(rig.top(0).data_vector(), y);
    EXPECT_EQ(rig.top(1).data_vector(), std::vector<float>(mask.begin(), mask.end()));

    const auto dy = noise_vector(8, rig.top(0).count());
    rig.top(0).write_diff(dy.data());
    rig.backward();
    EXPECT_EQ(rig.bottom(0).diff_vector(), oracle::max_pool_backward(c.shape(), mask, dy.data()));
  });
}

TEST_P(PoolingTest, AverageMatchesOracle) {
  for_plans(GetParam(), "AVE", 1, [](LayerRig& rig, const Case& c) {
    rig.forward();
    ASSERT_EQ(rig.top(0).shape(), (Shape{c.n, c.channels, c.oh, c.ow}));
    expect_near(rig.top(0).data_vector(), oracle::average_pool(c.shape(), rig.bottom(0).data_vector().data()), 1e-6f,
                1e-5f);
    const auto dy = noise_vector(8, rig.top(0).count());
    rig.top(0).write_diff(dy.data());
    rig.backward();
    expect_near(rig.bottom(0).diff_vector(), oracle::average_pool_backward(c.shape(), dy.data()), 1e-6f, 1e-5f);
  });
}

bool padded(const Case& c) { return c.ph > 0 || c.pw > 0; }
float positive(i64 i) { return 0.01f + std::abs(noise(7, i)); }

TEST_P(PoolingTest, StochasticDrawsFromTheWindow) {
  for (const Case& c : cases) {
    if (padded(c)) continue;
    SCOPED_TRACE(c.text);
    std::vector<std::vector<float>> drawn, slopes;
    for (const std::string& backend : {GetParam(), std::string("reference")}) {
      LayerRig rig(backend, layer_text("STOCHASTIC", c), {{c.n, c.channels, c.h, c.w}});
      rig.fill_bottom(0, positive);
      rig.forward();
      const auto dy = noise_vector(8, rig.top(0).count());
      rig.top(0).write_diff(dy.data());
      rig.backward();
      drawn.push_back(rig.top(0).data_vector());
      slopes.push_back(rig.bottom(0).diff_vector());
      // Values are all different, so what was drawn tells which, and where its gradient belongs.
      const auto x = rig.bottom(0).data_vector();
      std::vector<int> found(drawn.back().size());
      std::vector<float> due(x.size());
      oracle::for_windows(c.shape(), [&](i64 o, i64 i, i64) {
        const auto out = static_cast<std::size_t>(o), in = static_cast<std::size_t>(i);
        if (x[in] != drawn.back()[out]) return;
        ++found[out];
        due[in] += dy[out];
      });
      EXPECT_EQ(found, std::vector<int>(found.size(), 1));
      EXPECT_EQ(slopes.back(), due);
    }
    EXPECT_EQ(drawn[0], drawn[1]) << "the same draws on every backend";
  }
}

TEST_P(PoolingTest, StochasticDrawsInProportion) {
  constexpr int planes = 4000;
  LayerRig rig(GetParam(), "name: 'p' type: 'Pooling' pooling_param { pool: STOCHASTIC kernel_size: 2 }",
               {{2, planes / 2, 2, 2}});
  rig.fill_bottom(0, [](i64 i) { return static_cast<float>(i % 4); });  // 0, 1, 2, 3: shares of 0, 1/6, 1/3, 1/2
  rig.forward();
  const auto first = rig.top(0).data_vector();
  std::vector<int> times(4);
  for (const float value : first) ++times.at(static_cast<std::size_t>(value));
  EXPECT_EQ(times[0], 0);
  for (int k = 1; k < 4; ++k)
    EXPECT_NEAR(times[static_cast<std::size_t>(k)], planes * k / 6, 120) << k;  // 4 deviations
  rig.forward();
  EXPECT_EQ(rig.top(0).data_vector(), first) << "a pass draws the same again";
}

TEST_P(PoolingTest, StochasticWeighsWhenTested) {
  for (const Case& c : cases) {
    if (padded(c)) continue;
    SCOPED_TRACE(c.text);
    LayerRig rig(GetParam(), layer_text("STOCHASTIC", c), {{c.n, c.channels, c.h, c.w}}, 1, Phase::test);
    rig.fill_bottom(0, positive);
    rig.forward();
    const auto x = rig.bottom(0).data_vector();
    std::vector<float> squares(static_cast<std::size_t>(rig.top(0).count())), sums = squares;
    oracle::for_windows(c.shape(), [&](i64 o, i64 i, i64) {
      squares[static_cast<std::size_t>(o)] += x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i)];
      sums[static_cast<std::size_t>(o)] += x[static_cast<std::size_t>(i)];
    });
    for (std::size_t o = 0; o < sums.size(); ++o) squares[o] /= sums[o];
    expect_near(rig.top(0).data_vector(), squares, 1e-6f, 1e-5f);
    rig.fill_bottom(0, [](i64) { return 0.0f; });
    rig.forward();
    EXPECT_EQ(rig.top(0).data_vector(), std::vector<float>(sums.size())) << "zeros";
  }
}

TEST_P(PoolingTest, AllZerosTakeTheFirst) {
  LayerRig rig(GetParam(), "name: 'p' type: 'Pooling' pooling_param { kernel_size: 3 stride: 3 }", {{1, 1, 6, 6}}, 2);
  rig.fill_bottom(0, [](i64) { return 0.0f; });
  rig.forward();
  EXPECT_EQ(rig.top(1).data_vector(), (std::vector<float>{0, 3, 18, 21}));
}

TEST_P(PoolingTest, Gradients) {
  for (const char* text : {"pool: MAX kernel_size: 3 stride: 2 pad: 1", "pool: AVE kernel_size: 3 stride: 2 pad: 1",
                           "pool: AVE global_pooling: true"}) {
    SCOPED_TRACE(text);
    LayerRig rig(GetParam(), std::string("name: 'p' type: 'Pooling' pooling_param { ") + text + " }", {{2, 2, 5, 4}});
    rig.check_gradients(1e-2f, 1e-2f, true);
  }
}

/// Runs the planner for a scratchpad of `bytes` and its plan on the backend.
void run_with_scratch(const std::string& backend, i64 bytes, PlaneCut expected) {
  CoreGroup& group = group_of(backend);
  MachineSpec small = group.spec();
  small.scratch_bytes = bytes;
  small.lines_in_scratch = true;
  small.cpes = 1;
  const PoolShape shape{2, 9, 70, 5, 36, 3, 3, 2, 2, 1, 1};
  Blob x(group, {2, 9, 70}), y(group, {2, 5, 36});
  const ClusterMemory mask(group, 4 * static_cast<std::size_t>(y.count()));
  const auto values = noise_vector(1, x.count()), slopes = noise_vector(2, y.count());
  x.write_data(values.data());
  y.write_diff(slopes.data());

  auto forward = plan_max_forward(small, shape);
  EXPECT_EQ(forward.program.cut.line_planes, expected.line_planes);
  EXPECT_EQ(forward.program.cut.line_rows, expected.line_rows);
  EXPECT_EQ(forward.program.cut.line_cols < shape.ow, expected.line_cols < shape.ow);
  forward.program.x = x.data();
  forward.program.y = y.mutable_data();
  forward.program.mask = mask.as<int>();
  group.launch(forward.program, forward.plan);
  auto backward = plan_max_backward(small, shape);
  backward.program.dy = y.diff();
  backward.program.mask = mask.as<int>();
  backward.program.dx = x.mutable_diff();
  group.launch(backward.program, backward.plan);
  group.wait();

  std::vector<float> best;
  std::vector<i64> index;
  oracle::max_pool(shape, values.data(), best, index);
  EXPECT_EQ(y.data_vector(), best);
  EXPECT_EQ(x.diff_vector(), oracle::max_pool_backward(shape, index, slopes.data()));

  auto average = plan_average_backward(small, shape);
  average.program.dy = y.diff();
  average.program.dx = x.mutable_diff();
  group.launch(average.program, average.plan);
  group.wait();
  expect_near(x.diff_vector(), oracle::average_pool_backward(shape, slopes.data()), 1e-6f, 1e-5f);
}

TEST_P(PoolingTest, WholePlanesBandsAndColumnBlocks) {
  const PlaneCut planes{0, 0, 0, 2, 5, 36}, band{0, 0, 0, 1, 2, 36}, columns{0, 0, 0, 1, 1, 1};
  run_with_scratch(GetParam(), 16 * 1024, planes);
  run_with_scratch(GetParam(), 5 * 1024, band);
  run_with_scratch(GetParam(), 1024 + 512, columns);
}

TEST_P(PoolingTest, RefusesWhatCannotBe) {
  const auto make = [&](const std::string& text, const Shape& shape) {
    LayerRig rig(GetParam(), "name: 'p' type: 'Pooling' pooling_param { " + text + " }", {shape});
  };
  EXPECT_THROW(make("", {1, 1, 4, 4}), ConfigError);
  EXPECT_THROW(make("kernel_size: 2 kernel_h: 2 kernel_w: 2", {1, 1, 4, 4}), ConfigError);
  EXPECT_THROW(make("kernel_h: 2", {1, 1, 4, 4}), ConfigError);
  EXPECT_THROW(make("kernel_size: 2 pad: 2", {1, 1, 4, 4}), ConfigError);
  EXPECT_THROW(make("kernel_size: 2 stride: 0", {1, 1, 4, 4}), ConfigError);
  EXPECT_THROW(make("kernel_size: 2 global_pooling: true", {1, 1, 4, 4}), ConfigError);
  EXPECT_THROW(make("kernel_size: 2 pad: 1 pool: STOCHASTIC", {1, 1, 4, 4}), ConfigError);
  LayerRig tested(GetParam(), "name: 'p' type: 'Pooling' pooling_param { kernel_size: 2 pool: STOCHASTIC }",
                  {{1, 1, 4, 4}}, 1, Phase::test);
  tested.forward();
  EXPECT_THROW(tested.backward(), ConfigError);
  EXPECT_THROW(make("kernel_size: 9 round_mode: FLOOR", {1, 1, 4, 4}), ShapeError);
  EXPECT_THROW(make("kernel_size: 2", {4, 4}), ShapeError);
}

}  // namespace
}  // namespace cortado::test::pooling_test
