// Streaming and tile programs on the Kokkos backend against plain loops.
#include "tests/backends/kokkos/programs.h"

#include <gtest/gtest.h>

#include "tests/backends/kokkos/rig.h"

namespace cortado::test::programs_test {
namespace {

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

TEST(KokkosPrograms, LinesCoverEveryElementOnce) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  for (const i64 n : {1, 2, 31, 32, 33, 1000, 4099})
    for (const i64 block : {1, 7, 64, 5000}) {
      const auto host = whole_numbers(1, n);
      Device<float> x(group, host), y(group, std::vector<float>(at(n), -100.0f));
      PlanBuilder book(group.spec());
      Affine program{x.get(),
                     y.get(),
                     n,
                     block,
                     book.line<float>("first", 1, 1),
                     book.line<float>("in", block, Depth::two),
                     book.line<float>("out", block, Depth::two)};
      group.launch(program, book.plan((n + block - 1) / block));
      const auto result = y.read();
      for (i64 i = 0; i < n; ++i) ASSERT_EQ(result[at(i)], 2 * host[at(i)] + host[0]) << n << " in " << block;
    }
}

TEST(KokkosPrograms, FoldIsTheSumAndUpdateReadsBeforeItWrites) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  for (const i64 length : {1, 2, 63, 64, 65, 127, 128, 200, 1025}) {
    const i64 lines = 5;
    const auto host = whole_numbers(2, lines * length);
    Device<float> x(group, host), sums(group, std::vector<float>(at(lines)));
    PlanBuilder book(group.spec());
    SumAndSquare program{
        x.get(), sums.get(), lines, length, book.line<float>("in", length, 1), book.line<float>("out", 1, 1)};
    group.launch(program, book.plan(lines));
    const auto squares = x.read(), sum = sums.read();
    for (i64 l = 0; l < lines; ++l) {
      float expected = 0;
      for (i64 j = 0; j < length; ++j) {
        const float v = host[at(l * length + j)];
        expected += v;
        ASSERT_EQ(squares[at(l * length + j)], v * v);
      }
      EXPECT_EQ(sum[at(l)], expected) << "line of " << length;
    }
  }
}

TEST(KokkosPrograms, FoldDoesNotDependOnTheNumberOfThreads) {
  const i64 lines = 3, length = 10007;
  std::vector<float> host(at(lines * length));
  for (i64 i = 0; i < lines * length; ++i) host[at(i)] = random_uniform(3, static_cast<std::uint64_t>(i)) - 0.3f;
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2}) {
    const auto processor = kokkos_processor(1, threads);
    CoreGroup& group = processor->group(0);
    Device<float> x(group, host), sums(group, std::vector<float>(at(lines)));
    PlanBuilder book(group.spec());
    SumAndSquare program{
        x.get(), sums.get(), lines, length, book.line<float>("in", length, 1), book.line<float>("out", 1, 1)};
    group.launch(program, book.plan(lines));
    results.push_back(sums.read());
  }
  EXPECT_EQ(results[0], results[1]);
}

struct ProductCase {
  i64 rows, cols, depth, m, n, k;
  bool transposed;
};

/// `s` with a depth of tiles that the machine's scratchpad holds.
ProductCase fitted(const MachineSpec& spec, ProductCase s) {
  const auto bytes = [&] { return 4 * (2 * (s.m + s.n) * s.k + s.m * s.n) + 1024; };
  while (s.k > 1 && bytes() > spec.scratch_bytes) s.k = (s.k + 1) / 2;
  return s;
}

template <class T>
void check_product(CoreGroup& group, const ProductCase& asked) {
  const ProductCase s = fitted(group.spec(), asked);
  const i64 lda = s.depth + 3, ldb = (s.transposed ? s.depth : s.cols) + 1, ldy = s.cols + 2;
  const auto made = [](std::uint64_t key, i64 n) {
    const auto v = whole_numbers(key, n);
    return std::vector<T>(v.begin(), v.end());
  };
  const auto a = made(5, s.rows * lda), b = made(6, (s.transposed ? s.cols : s.depth) * ldb), y = made(7, s.rows * ldy);
  Device<T> da(group, a), db(group, b), dy(group, y);
  PlanBuilder book(group.spec());
  TileProduct<T> program{da.get(),
                         db.get(),
                         dy.get(),
                         s.rows,
                         s.cols,
                         s.depth,
                         lda,
                         ldb,
                         ldy,
                         s.m,
                         s.n,
                         s.k,
                         s.transposed,
                         T(2),
                         book.tile<float>("left", s.m * s.k, 2),
                         book.tile<float>("right", s.k * s.n, 2),
                         book.tile<float>("sum", s.m * s.n, 1)};
  group.launch(program, book.plan((s.rows + s.m - 1) / s.m * ((s.cols + s.n - 1) / s.n)));
  const auto result = dy.read();
  for (i64 i = 0; i < s.rows; ++i)
    for (i64 j = 0; j < ldy; ++j) {
      T expected = y[at(i * ldy + j)];
      if (j < s.cols) {
        expected *= 2;
        for (i64 k = 0; k < s.depth; ++k)
          expected += a[at(i * lda + k)] * b[at(s.transposed ? j * ldb + k : k * ldb + j)];
      }
      ASSERT_EQ(result[at(i * ldy + j)], expected) << i << ", " << j << " of " << s.rows << " x " << s.cols << " x "
                                                   << s.depth << " in " << s.m << " x " << s.n << " x " << s.k;
    }
}

TEST(KokkosPrograms, TileProductsMatchPlainLoops) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  for (const bool transposed : {false, true})
    for (const ProductCase& s :
         {ProductCase{1, 1, 1, 1, 1, 1, transposed}, ProductCase{7, 5, 3, 8, 16, 4, transposed},
          ProductCase{8, 48, 32, 8, 48, 32, transposed}, ProductCase{33, 70, 129, 16, 32, 40, transposed},
          ProductCase{50, 100, 300, 23, 49, 150, transposed}, ProductCase{3, 200, 17, 3, 65, 17, transposed}}) {
      check_product<float>(group, s);
      check_product<int>(group, s);
    }
}

TEST(KokkosPrograms, WhatIsStoredMayStreamPastTheCaches) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  for (const bool streams : {false, true})
    for (const auto& [rows, cols, pitch] : {std::array<i64, 3>{64, 16, 64},
                                            {224, 32, 3136},
                                            {80, 5, 96},
                                            {208, 35, 208},
                                            {16, 1, 16},
                                            {63, 16, 64},
                                            {64, 16, 65},
                                            {7, 3, 7}}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols) + ", pitch " + std::to_string(pitch) +
                   (streams ? ", streamed" : ""));
      const auto x = whole_numbers(1, rows), w = whole_numbers(2, cols);
      const std::vector<float> before(static_cast<std::size_t>(cols * pitch), -9.0f),
          before_plain(static_cast<std::size_t>(rows * pitch), -9.0f);
      Device<float> dx(group, x), dw(group, w), dy(group, before), dz(group, before), dplain(group, before_plain);
      StreamedProduct program{dx.get(), dw.get(), dy.get(), dz.get(), dplain.get(), rows, cols,
                              pitch,    {},       {},       {},       {},           {}};
      PlanBuilder book(group.spec());
      program.left = book.tile<float>("left", rows, 1);
      program.right = book.tile<float>("right", cols, 1);
      program.sum = book.tile<float>("sum", rows * cols, 1);
      program.block = book.tile<float>("block", rows * cols, 1);
      program.plain_block = book.tile<float>("plain block", rows * cols, 1);
      if (!book.fits()) {  // a device's scratchpad; nothing streams there
        EXPECT_FALSE(group.spec().host_memory);
        continue;
      }
      Plan plan = book.plan(1);
      plan.streams = streams;
      group.launch(program, plan);
      group.wait();
      std::vector<float> expected = before, plain = before_plain;
      for (i64 r = 0; r < rows; ++r)
        for (i64 c = 0; c < cols; ++c)
          expected[static_cast<std::size_t>(c * pitch + r)] = plain[static_cast<std::size_t>(r * pitch + c)] =
              x[static_cast<std::size_t>(r)] * w[static_cast<std::size_t>(c)] + 1.0f;
      EXPECT_EQ(dy.read(), expected);
      EXPECT_EQ(dz.read(), expected);
      EXPECT_EQ(dplain.read(), plain);
    }
}

TEST(KokkosPrograms, TapsMakeAConvolution) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  struct Case {
    i64 channels, filters, h, w, kh, kw, stride, pad, tile_h;
  };
  for (const Case& s :
       {Case{1, 1, 1, 1, 1, 1, 1, 0, 1}, Case{3, 5, 9, 7, 3, 3, 1, 1, 2}, Case{4, 9, 12, 20, 5, 3, 2, 2, 3},
        Case{2, 16, 20, 33, 1, 1, 1, 0, 4}, Case{5, 17, 8, 18, 3, 3, 3, 1, 2}}) {
    const i64 oh = (s.h + 2 * s.pad - s.kh) / s.stride + 1, ow = (s.w + 2 * s.pad - s.kw) / s.stride + 1;
    const auto x = whole_numbers(8, s.channels * s.h * s.w), w = whole_numbers(9, s.filters * s.channels * s.kh * s.kw),
               bias = whole_numbers(10, s.filters);
    Device<float> dx(group, x), dw(group, w), dbias(group, bias),
        dy(group, std::vector<float>(at(s.filters * oh * ow)));
    const i64 in_h = (s.tile_h - 1) * s.stride + s.kh, in_w = (ow - 1) * s.stride + s.kw;
    PlanBuilder book(group.spec());
    TileConvolution program{dx.get(),
                            dw.get(),
                            dbias.get(),
                            dy.get(),
                            s.channels,
                            s.filters,
                            s.h,
                            s.w,
                            s.kh,
                            s.kw,
                            s.stride,
                            s.pad,
                            oh,
                            ow,
                            s.tile_h,
                            book.tile<float>("left", s.filters * s.channels * s.kh * s.kw, 1),
                            book.tile<float>("right", s.channels * in_h * in_w, 1),
                            book.tile<float>("sum", s.filters * s.tile_h * ow, 1),
                            book.line<float>("bias", s.filters, 1)};
    group.launch(program, book.plan((oh + s.tile_h - 1) / s.tile_h));
    const auto y = dy.read();
    for (i64 f = 0; f < s.filters; ++f)
      for (i64 p = 0; p < oh * ow; ++p) {
        float expected = bias[at(f)];
        for (i64 ch = 0; ch < s.channels; ++ch)
          for (i64 ky = 0; ky < s.kh; ++ky)
            for (i64 kx = 0; kx < s.kw; ++kx) {
              const i64 iy = p / ow * s.stride + ky - s.pad, ix = p % ow * s.stride + kx - s.pad;
              if (iy < 0 || iy >= s.h || ix < 0 || ix >= s.w) continue;
              expected += x[at((ch * s.h + iy) * s.w + ix)] * w[at(((f * s.channels + ch) * s.kh + ky) * s.kw + kx)];
            }
        ASSERT_EQ(y[at(f * oh * ow + p)], expected) << "filter " << f << ", pixel " << p;
      }
  }
}

}  // namespace
}  // namespace cortado::test::programs_test
