// The gate of the abstract machine: programs as different as a library of layers needs, on every backend of the build,
// against plain loops. Each layer's own tests go deeper; this file is where a new backend starts.
#include <algorithm>
#include <cmath>

#include "core/tensor/blob.h"
#include "layers/all_layers.h"
#include "layers/convolution/columns/programs.h"
#include "layers/convolution/implicit/implicit.h"
#include "layers/convolution/oracle.h"
#include "layers/gemm/programs.h"
#include "layers/pooling/oracle.h"
#include "layers/pooling/plan.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::gate_test {
namespace {

constexpr i64 sw26010_scratch = 64 * 1024;

class GateTest : public ::testing::TestWithParam<std::string> {
 protected:
  CoreGroup& group() { return group_of(GetParam()); }

  /// Plans are made for SW26010's scratchpad even where the backend has more.
  MachineSpec small_spec() {
    MachineSpec spec = group().spec();
    spec.scratch_bytes = std::min(spec.scratch_bytes, sw26010_scratch);
    spec.lines_in_scratch = true;
    return spec;
  }
};

/// A blob with noise as data and other noise as gradient.
std::unique_ptr<Blob> noisy(CoreGroup& group, const Shape& shape, std::uint64_t stream) {
  auto blob = std::make_unique<Blob>(group, shape);
  blob->write_data(noise_vector(stream, blob->count()).data());
  blob->write_diff(noise_vector(stream + 100, blob->count()).data());
  return blob;
}

ConvolutionShape three_by_three() {
  ConvolutionShape s;
  s.mb = 2, s.ic = 5, s.oc = 19, s.ih = s.oh = 9, s.iw = s.ow = 17;
  s.kh = s.kw = 3, s.ph = s.pw = 1;
  return s;
}

TEST_P(GateTest, Im2col) {
  ConvolutionShape s = three_by_three();
  s.sw = 2, s.ow = 9;
  const auto x = noisy(group(), {s.mb, s.ic, s.ih, s.iw}, 1);
  Blob columns(group(), {s.mb, s.ic * s.kh * s.kw, s.oh * s.ow});
  const MachineSpec spec = small_spec();
  PlanBuilder book(spec);
  Im2col program{};
  program.s = s.sizes(s.mb);
  program.x = x->data();
  program.columns = columns.mutable_data();
  program.line_rows = 4;  // does not divide oh
  program.x_buf = book.line<float>("x", program.s.rows_under(4) * s.iw, Depth::two);
  program.column_buf = book.line<float>("columns", s.ow * 4, 1);
  program.depth = Depth::two;
  group().launch(program, book.plan(0));
  group().wait();

  const auto image = x->data_vector();
  std::vector<float> expected(static_cast<std::size_t>(columns.count()));
  std::size_t at = 0;
  for (i64 plane = 0; plane < s.mb * s.ic; ++plane)
    for (i64 k = 0; k < s.kh * s.kw; ++k)
      for (i64 o = 0; o < s.oh * s.ow; ++o, ++at) {
        const i64 iy = o / s.ow * s.sh - s.ph + k / s.kw, ix = o % s.ow * s.sw - s.pw + k % s.kw;
        if (iy >= 0 && iy < s.ih && ix >= 0 && ix < s.iw)
          expected[at] = image[static_cast<std::size_t>((plane * s.ih + iy) * s.iw + ix)];
      }
  EXPECT_EQ(columns.data_vector(), expected);
}

TEST_P(GateTest, RegisterCommunicationGemmDoubleBuffered) {
  const i64 m = 35, n = 70, k = 129;  // none divided by the tiles
  const auto a = noisy(group(), {m, k}, 2), b = noisy(group(), {k, n}, 3), y = noisy(group(), {m, n}, 4);
  const auto left = a->data_vector(), right = b->data_vector(), old = y->data_vector();
  for (const Depth depth : {Depth::one, Depth::two}) {
    const MachineSpec spec = small_spec();
    PlanBuilder book(spec);
    Gemm<float> program;
    program.a = {a->data(), k, 1};
    program.b = {b->data(), n, 1};
    program.y = y->mutable_data();
    program.ldy = n;
    program.m = m, program.n = n, program.k = k;
    program.alpha = 2, program.beta = depth == Depth::one ? 0.0f : 1.0f;
    program.tile_m = 16, program.tile_n = 32, program.tile_k = 40;
    program.a_buf = book.operand<float>("a", 16 * 40, depth);
    program.b_buf = book.operand<float>("b", 40 * 32, depth);
    program.acc_buf = book.tile<float>("acc", 16 * 32, 1);
    program.depth = depth;
    y->write_data(old.data());
    group().launch(program, book.plan(0));
    group().wait();
    std::vector<float> expected = old;
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < n; ++j) {
        double sum = 0;
        for (i64 t = 0; t < k; ++t)
          sum += double{left[static_cast<std::size_t>(i * k + t)]} * double{right[static_cast<std::size_t>(t * n + j)]};
        float& e = expected[static_cast<std::size_t>(i * n + j)];
        e = static_cast<float>(2 * sum) + program.beta * e;
      }
    expect_near(y->data_vector(), expected, 1e-4f, 1e-4f);
  }
}

TEST_P(GateTest, ImplicitConvolutionForwardAndWeightGradient) {
  const ConvolutionShape s = three_by_three();
  const auto x = noisy(group(), {s.mb, s.ic, s.ih, s.iw}, 5), w = noisy(group(), {s.oc, s.ic, s.kh, s.kw}, 6),
             y = noisy(group(), {s.mb, s.oc, s.oh, s.ow}, 7);
  const auto run = [&](ConvolutionDirection direction, float* out) {
    const ConvolutionPlan plan = plan_implicit(group(), s, direction);
    ASSERT_EQ(plan.refused, "");
    ClusterMemory workspace(group(), sizeof(float) * static_cast<std::size_t>(plan.workspace));
    plan.run(group(), {x->data(), w->data(), y->diff(), out}, workspace.as<float>());
    group().wait();
  };
  const auto weight_gradient = w->diff_vector();
  run(ConvolutionDirection::forward, y->mutable_data());
  run(ConvolutionDirection::weight_gradient, w->mutable_diff());
  const auto image = x->data_vector();
  expect_near(y->data_vector(), oracle::convolution_forward(s, image, w->data_vector(), {}), 1e-5f, 1e-4f);
  auto expected = oracle::convolution_backward(s, image, w->data_vector(), y->diff_vector()).w;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += weight_gradient[i];
  expect_near(w->diff_vector(), expected, 2e-5f, 1e-4f);
}

TEST_P(GateTest, PoolingOfRowsThatExceedAScratchpad) {
  const int h = 5, w = 17001, oh = 2, ow = 8500;
  ASSERT_GT(w * 4, sw26010_scratch);
  const PoolShape shape{1, h, w, oh, ow, 3, 3, 2, 2, 0, 0};
  const auto x = noisy(group(), {1, h, w}, 8), y = noisy(group(), {1, oh, ow}, 9);
  const ClusterMemory mask(group(), 4 * static_cast<std::size_t>(y->count()));
  auto forward = plan_max_forward(small_spec(), shape);
  EXPECT_LT(forward.program.cut.line_cols, ow) << "cut into blocks of columns";
  forward.program.x = x->data();
  forward.program.y = y->mutable_data();
  forward.program.mask = mask.as<int>();
  group().launch(forward.program, forward.plan);
  auto backward = plan_max_backward(small_spec(), shape);
  backward.program.dy = y->diff();
  backward.program.mask = mask.as<int>();
  backward.program.dx = x->mutable_diff();
  group().launch(backward.program, backward.plan);
  group().wait();
  std::vector<float> best;
  std::vector<i64> index;
  oracle::max_pool(shape, x->data_vector().data(), best, index);
  EXPECT_EQ(y->data_vector(), best);
  EXPECT_EQ(x->diff_vector(), oracle::max_pool_backward(shape, index, y->diff_vector().data()));
}

/// Batch statistics of channel `c` of x (n x channels x inner), and the means of dy and of dy times the normalised
/// value.
struct Moments {
  double mean = 0, variance = 0, dy = 0, dy_y = 0;

  Moments(const std::vector<float>& x, const std::vector<float>& slopes, const Shape& shape, i64 c) {
    const i64 inner = shape[2] * shape[3], values = shape[0] * inner;
    const auto average = [&](auto term) {
      double sum = 0;
      for (i64 i = 0; i < values; ++i)
        sum += term(static_cast<std::size_t>((i / inner * shape[1] + c) * inner + i % inner));
      return sum / static_cast<double>(values);
    };
    mean = average([&](std::size_t i) { return double{x[i]}; });
    variance = average([&](std::size_t i) { return (x[i] - mean) * (x[i] - mean); });
    dy = average([&](std::size_t i) { return double{slopes[i]}; });
    dy_y = average([&](std::size_t i) { return slopes[i] * normalised(x[i]); });
  }
  double deviation() const { return std::sqrt(variance + 1e-5); }
  double normalised(double x) const { return (x - mean) / deviation(); }
};

TEST_P(GateTest, BatchNormTraining) {
  for (const Shape& shape : {Shape{1, 1, 1, 2}, Shape{3, 5, 7, 9}, Shape{4, 2, 33, 65}, Shape{70, 33, 1, 1}}) {
    LayerRig rig(GetParam(), "name: 'b' type: 'BatchNorm'", {shape});
    rig.fill_bottom(0, [](i64 i) { return 3 + noise(10, i); });  // a mean that squares would drown in
    rig.forward();
    rig.fill_top_diff(0, [](i64 i) { return noise(11, i); });
    rig.backward();
    const auto x = rig.bottom(0).data_vector(), dy = rig.top(0).diff_vector();
    std::vector<float> y(x.size()), dx(x.size());
    for (i64 c = 0; c < shape[1]; ++c) {
      const Moments m(x, dy, shape, c);
      const i64 inner = shape[2] * shape[3];
      for (i64 i = 0; i < shape[0] * inner; ++i) {
        const auto at = static_cast<std::size_t>((i / inner * shape[1] + c) * inner + i % inner);
        const double normalised = m.normalised(x[at]);
        y[at] = static_cast<float>(normalised);
        dx[at] = static_cast<float>((dy[at] - m.dy - normalised * m.dy_y) / m.deviation());
      }
      // The first batch's mean is the running sum.
      EXPECT_NEAR(rig.blob(0).data_vector()[static_cast<std::size_t>(c)], m.mean, 1e-4);
    }
    expect_near(rig.top(0).data_vector(), y, 1e-4f, 1e-4f);
    expect_near(rig.bottom(0).diff_vector(), dx, 1e-4f, 1e-4f);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, GateTest, all_backends(), backend_name);
INSTANTIATE_TEST_SUITE_P(Further, GateTest, more_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::gate_test
