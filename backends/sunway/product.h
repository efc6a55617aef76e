/* The multiply of port.h in plain vector code, for the ports that run on the machine. What differs between them is how
 * a CPE comes by a vector of the left and of the right operand (swCaffe section IV-A): a port defines, before including
 * this, four_rows(p, a, m, rows, at)        four sums' left factors in one vector: rows m .. m + rows, `at` elements in
 *   four_columns(p, b, column, at)      four neighbouring columns' right factors
 * Blocks of 4 x 4 vectors of sums stay in registers while all taps and terms pass. */
#ifndef CORTADO_SUNWAY_PRODUCT_H
#define CORTADO_SUNWAY_PRODUCT_H
#include <simd.h>

#include "backends/sunway/port.h"

enum { product_rows = 4, product_vectors = 4, product_lanes = 4 };

/* Where column `n` of the sums, counted over n2 x n1 x n0, begins in the right operand. */
static long product_column(const port_product* p, int n) {
  return (long)(n / (p->n1 * p->n0)) * p->b_n2 + (long)(n / p->n0 % p->n1) * p->b_n1 + (long)(n % p->n0) * p->b_n0;
}

#define PRODUCT_BLOCKS(T)                                                                                             \
  static void product_block(T* sums, const void* a, const void* b, const port_product* p, int m, int rows, int n) {   \
    const int columns = p->n2 * p->n1 * p->n0;                                                                        \
    doublev4 acc[product_rows][product_vectors];                                                                      \
    for (int i = 0; i < product_rows; ++i)                                                                            \
      for (int v = 0; v < product_vectors; ++v)                                                                       \
        for (int l = 0; l < product_lanes; ++l) {                                                                     \
          const int c = n + v * product_lanes + l;                                                                    \
          acc[i][v][l] = i < rows && c < columns ? (double)sums[(long)(m + i) * columns + c] : 0.0;                   \
        }                                                                                                             \
    for (int t1 = 0; t1 < p->count1; ++t1)                                                                            \
      for (int t0 = 0; t0 < p->count0; ++t0)                                                                          \
        for (int k = 0; k < p->k; ++k) {                                                                              \
          const doublev4 left =                                                                                       \
              four_rows(p, a, m, rows, p->a_first + (long)k * p->a_k + (long)t1 * p->a1 + (long)t0 * p->a0);          \
          for (int v = 0; v < product_vectors; ++v) {                                                                 \
            const doublev4 right = four_columns(p, b, n + v * product_lanes,                                          \
                                                p->b_first + (long)k * p->b_k + (long)t1 * p->b1 + (long)t0 * p->b0); \
            for (int i = 0; i < product_rows; ++i) acc[i][v] += right * left[i];                                      \
          }                                                                                                           \
        }                                                                                                             \
    for (int i = 0; i < rows; ++i)                                                                                    \
      for (int v = 0; v < product_vectors; ++v)                                                                       \
        for (int l = 0; l < product_lanes; ++l) {                                                                     \
          const int c = n + v * product_lanes + l;                                                                    \
          if (c < columns) sums[(long)(m + i) * columns + c] = (T)acc[i][v][l];                                       \
        }                                                                                                             \
  }                                                                                                                   \
  static void product_blocks(T* sums, const void* a, const void* b, const port_product* p) {                          \
    for (int m = 0; m < p->m; m += product_rows)                                                                      \
      for (int n = 0; n < p->n2 * p->n1 * p->n0; n += product_vectors * product_lanes)                                \
        product_block(sums, a, b, p, m, p->m - m < product_rows ? p->m - m : product_rows, n);                        \
  }

#endif
