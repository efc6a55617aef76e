// The multiply of a port, by 64 threads that stand in for CPEs: what its vectors, its register communication or its RMA
// give is what plain loops give.
#include <gtest/gtest.h>

#include <vector>

#include "tests/backends/sunway/ports/machine.h"

namespace cortado::test {
namespace {

/// How an operand's product reads it, and how large it is.
struct Case {
  const char* name;
  port_product p;
  int a_elements, b_elements;
};

port_product sizes(int m, int n2, int n1, int n0, int k) {
  port_product p = {};
  p.m = m, p.n2 = n2, p.n1 = n1, p.n0 = n0, p.k = k, p.count1 = p.count0 = 1;
  return p;
}

/// A matrix product of m x k by k x n; `turned`: the operand lies column by column.
Case matrices(const char* name, int m, int n, int k, bool a_turned, bool b_turned) {
  Case c = {name, sizes(m, 1, 1, n, k), m * k, k * n};
  c.p.a_m = a_turned ? 1 : k, c.p.a_k = a_turned ? m : 1;
  c.p.b_k = b_turned ? 1 : n, c.p.b_n0 = b_turned ? k : 1;
  return c;
}

/// Forward of a 3 x 2 kernel over pixels with a halo, at a stride along columns.
Case convolution(const char* name, int stride) {
  const int m = 5, rows = 2, cols = 9, k = 3, halo_rows = rows + 2, halo_cols = (cols - 1) * stride + 2;
  Case c = {name, sizes(m, 1, rows, cols, k), m * k * 6, k * halo_rows * halo_cols};
  c.p.count1 = 3, c.p.count0 = 2;
  c.p.a_m = k * 6, c.p.a_k = 6, c.p.a1 = 2, c.p.a0 = 1;
  c.p.b_k = halo_rows * halo_cols, c.p.b_n1 = halo_cols, c.p.b_n0 = stride, c.p.b1 = halo_cols, c.p.b0 = 1;
  return c;
}

/// A weight gradient: columns are input channels and kernel positions, terms are pixels.
Case gradient() {
  const int m = 6, channels = 2, kernel = 3, cols = 7, halo = cols + kernel - 1;
  Case c = {"gradient", sizes(m, channels, kernel, kernel, cols), m * cols, channels * halo * (kernel + 1)};
  c.p.a_m = cols, c.p.a_k = 1;
  c.p.b_k = 1, c.p.b_n2 = halo * (kernel + 1), c.p.b_n1 = halo, c.p.b_n0 = 1;
  return c;
}

std::vector<Case> cases() {
  return {matrices("rows", 6, 21, 5, false, false),
          matrices("tall", 17, 3, 4, true, false),
          matrices("along m", 13, 6, 5, true, true),
          matrices("gathered", 7, 10, 3, false, true),
          convolution("convolution", 1),
          convolution("strided", 2),
          gradient(),
          matrices("one", 1, 1, 1, false, false)};
}

double element(int cpe, int which, int i) { return ((cpe * 7 + which * 3 + i * 13) % 23 - 11) / 8.0; }

/// Sums of CPE (row, col) after all steps (or its own product, `step` -1), which begin as 1, 2, 3 ...
std::vector<double> expected(const port_product& p, int row, int col, bool shared) {
  std::vector<double> sums;
  for (int m = 0; m < p.m; ++m)
    for (int n2 = 0; n2 < p.n2; ++n2)
      for (int n1 = 0; n1 < p.n1; ++n1)
        for (int n0 = 0; n0 < p.n0; ++n0) {
          double sum = static_cast<double>(sums.size()) + 1;
          for (int t = 0; t < (shared ? port_mesh_cols : 1); ++t)
            for (int t1 = 0; t1 < p.count1; ++t1)
              for (int t0 = 0; t0 < p.count0; ++t0)
                for (int k = 0; k < p.k; ++k) {
                  const int a = p.a_first + m * p.a_m + k * p.a_k + t1 * p.a1 + t0 * p.a0;
                  const int b = p.b_first + k * p.b_k + n2 * p.b_n2 + n1 * p.b_n1 + n0 * p.b_n0 + t1 * p.b1 + t0 * p.b0;
                  const int left = shared ? row * port_mesh_cols + t : row * port_mesh_cols + col;
                  const int right = shared ? t * port_mesh_cols + col : row * port_mesh_cols + col;
                  sum += element(left, 0, a) * element(right, 1, b);
                }
          sums.push_back(sum);
        }
  return sums;
}

/// An operand's bytes lie at a multiple of this in the scratchpad.
constexpr int place = 4096;

template <class Element>
void* fill(int at, int which, int cpe, int count) {
  auto* const to = reinterpret_cast<Element*>(static_cast<char*>(port_scratch()) + at * place);
  for (int i = 0; i < count; ++i) to[i] = static_cast<Element>(element(cpe, which, i));
  return to;
}
void* operand(int at, int which, int cpe, int count, bool is_wide) {
  return is_wide ? fill<double>(at, which, cpe, count) : fill<float>(at, which, cpe, count);
}

void multiply(float* sums, const void* a, const void* b, const port_product& p) { port_multiply_float(sums, a, b, &p); }
void multiply(double* sums, const void* a, const void* b, const port_product& p) {
  port_multiply_double(sums, static_cast<const double*>(a), static_cast<const double*>(b), &p);
}

template <class T>
void check(const Case& c, bool shared, bool widened) {
  SCOPED_TRACE(std::string(c.name) + (shared ? ", shared" : ", own") + (widened ? ", widened" : ""));
  std::vector<std::vector<double>> sums(port_cpes);
  StandInMachine().run([&] {
    const int cpe = port_row() * port_mesh_cols + port_col(), n = c.p.m * c.p.n2 * c.p.n1 * c.p.n0;
    const bool is_wide = widened || sizeof(T) == 8;
    const void *const a = operand(0, 0, cpe, c.a_elements, is_wide), *const b =
                                                                         operand(1, 1, cpe, c.b_elements, is_wide);
    T* const own = reinterpret_cast<T*>(static_cast<char*>(port_scratch()) + 2 * place);
    for (int i = 0; i < n; ++i) own[i] = static_cast<T>(i + 1);
    port_product p = c.p;
    p.a_elements = c.a_elements, p.b_elements = c.b_elements;
    p.a_widened = p.b_widened = widened ? 1 : 0;
    p.a_slots = static_cast<char*>(port_scratch()) + 6 * place, p.b_slots = p.a_slots + 3 * place;
    p.a_slot_bytes = p.b_slot_bytes = place;
    p.a_serial = 1, p.b_serial = 2;
    for (p.step = shared ? 0 : -1; p.step < (shared ? port_mesh_cols : 0); ++p.step) multiply(own, a, b, p);
    port_share_end();
    sums[static_cast<std::size_t>(cpe)].assign(own, own + n);
  });
  for (int cpe = 0; cpe < port_cpes; ++cpe) {
    const auto& got = sums[static_cast<std::size_t>(cpe)];
    const auto want = expected(c.p, cpe / port_mesh_cols, cpe % port_mesh_cols, shared);
    ASSERT_EQ(got.size(), want.size());
    // The numbers are eighths and few: their sums are exact in single precision.
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i]) << "CPE " << cpe << ", sum " << i;
  }
}

TEST(PortMultiply, OfItsOwnOperands) {
  for (const Case& c : cases()) {
    check<float>(c, false, false);
    check<double>(c, false, false);
  }
}

TEST(PortMultiply, OfSharedOperands) {
  for (const Case& c : cases()) {
    check<float>(c, true, false);
    check<double>(c, true, false);
  }
}

#ifndef CORTADO_SUNWAY_PRO
TEST(PortMultiply, OfWidenedOperands) {
  for (const Case& c : cases()) check<float>(c, true, true);
}
#else
TEST(PortRma, PutsToOneCpe) {
  std::vector<float> came(port_cpes);
  StandInMachine().run([&] {
    const int cpe = port_row() * port_mesh_cols + port_col();
    auto* const x = static_cast<float*>(port_scratch());
    auto* const replies = reinterpret_cast<port_reply*>(x + 64);
    replies[0].arrived = replies[1].arrived = 0;
    x[0] = static_cast<float>(cpe);
    port_barrier();
    port_rma_put(x + 1, x, 4, (cpe + 5) % port_cpes, &replies[0], &replies[1]);
    port_rma_wait(&replies[0], 1);
    port_rma_wait(&replies[1], 1);
    came[static_cast<std::size_t>(cpe)] = x[1];
  });
  for (int cpe = 0; cpe < port_cpes; ++cpe)
    EXPECT_EQ(came[static_cast<std::size_t>(cpe)], static_cast<float>((cpe + port_cpes - 5) % port_cpes));
}
#endif

}  // namespace
}  // namespace cortado::test
