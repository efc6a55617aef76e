/* The multiply of port.h in the vector types of the machines' simd.h, for the ports that run on them. A port sets
 * macros and includes this for each type of sums:
 *
 *   PRODUCT_NAME             the function's name
 *   PRODUCT_SUM              the type of sums in the scratchpad
 *   PRODUCT_VECTOR           a register of PRODUCT_LANES sums
 *   PRODUCT_LOAD_SUM(v, s), PRODUCT_STORE_SUM(v, s)
 *                            PRODUCT_LANES sums from s and to s, which need not be aligned
 *   PRODUCT_SPREAD(v, x, is_wide, at)
 *                            v = element `at` of an operand, in all lanes; is_wide: the operand is an array of doubles
 *   PRODUCT_LOAD(v, x, is_wide, at)
 *                            v = PRODUCT_LANES neighbours from element `at` on, which need not be aligned
 *   PRODUCT_FROM_ROW(v, owns, made), PRODUCT_FROM_COLUMN(v, owns, made)
 *                            v = what the owner of the row's (column's) operand made: the statement `made` makes it
 *   PRODUCT_ADD(left, right, sum)
 *                            left right + sum
 *
 * Blocks of 4 x 4 vectors of sums stay in registers while all taps and terms pass (swCaffe section IV-A): 4 factors in
 * all lanes and 4 vectors of neighbours make 16 multiply-adds, and are 8 loads or messages. Vectors lie along n0 where
 * columns are neighbours, else along m where rows are. Else their elements are gathered. Vectors that hang over an edge
 * are loaded whole: what lies behind them is in the scratchpad too, and its sums are dropped. */
#ifndef CORTADO_SUNWAY_PRODUCT_H
#define CORTADO_SUNWAY_PRODUCT_H
#include <simd.h>

#include "backends/sunway/port.h"

enum { product_scalars = 4, product_vectors = 4, product_most_lanes = 8 };

/* A block: where its factors begin in their operands, where its sums are, and how many there are. */
typedef struct {
  int scalars, vectors;
  long scalar_at[product_scalars];               /* in the operand that is spread */
  long vector_at[product_vectors];               /* in the operand whose neighbours make a vector */
  long sum_at[product_scalars][product_vectors]; /* of the vector's first lane */
  int lanes[product_vectors];                    /* that hold sums */
  long sum_pitch;                                /* between the sums of a vector's lanes */
  long pitch;                                    /* between the elements of a vector: 1, or gathered */
} product_block;

static long product_column(const port_product* p, int n) {
  return (long)(n / (p->n1 * p->n0)) * p->b_n2 + (long)(n / p->n0 % p->n1) * p->b_n1 + (long)(n % p->n0) * p->b_n0;
}
#endif

#define PRODUCT_JOIN_(a, b) a##b
#define PRODUCT_JOIN(a, b) PRODUCT_JOIN_(a, b)
#define PRODUCT_RUN PRODUCT_JOIN(PRODUCT_NAME, _block)
#define PRODUCT_GATHER PRODUCT_JOIN(PRODUCT_NAME, _gather)

/* `lanes` elements, `pitch` apart. */
static PRODUCT_VECTOR PRODUCT_GATHER(const void* x, int is_wide, long at, long pitch, int lanes) {
  PRODUCT_SUM element[product_most_lanes] __attribute__((aligned(64))) = {0};
  PRODUCT_VECTOR v;
  for (int l = 0; l < lanes; ++l)
    element[l] =
        is_wide ? (PRODUCT_SUM)((const double*)x)[at + l * pitch] : (PRODUCT_SUM)((const float*)x)[at + l * pitch];
  PRODUCT_LOAD_SUM(v, element);
  return v;
}

/* One block. With `along_m` the right operand is spread and the left one gives the vectors. */
static inline void PRODUCT_RUN(PRODUCT_SUM* sums, const void* a, const void* b, const port_product* p,
                               const product_block* block, int along_m) {
  const int shares = p->step >= 0, owns_a = !shares || port_col() == p->step, owns_b = !shares || port_row() == p->step;
  const int wide_a = PRODUCT_IS_WIDE(p->a_widened), wide_b = PRODUCT_IS_WIDE(p->b_widened);
  PRODUCT_VECTOR sum[product_scalars][product_vectors], spread[product_scalars], along[product_vectors];
  for (int i = 0; i < block->scalars; ++i)
    for (int v = 0; v < block->vectors; ++v) {
      PRODUCT_SUM* const home = sums + block->sum_at[i][v];
      if (block->lanes[v] == PRODUCT_LANES && block->sum_pitch == 1)
        PRODUCT_LOAD_SUM(sum[i][v], home);
      else
        sum[i][v] = PRODUCT_GATHER(home, sizeof(PRODUCT_SUM) == 8, 0, block->sum_pitch, block->lanes[v]);
    }
  for (int t1 = 0; t1 < p->count1; ++t1)
    for (int t0 = 0; t0 < p->count0; ++t0)
      for (int k = 0; k < p->k; ++k) {
        const long from_a = p->a_first + (long)k * p->a_k + (long)t1 * p->a1 + (long)t0 * p->a0;
        const long from_b = p->b_first + (long)k * p->b_k + (long)t1 * p->b1 + (long)t0 * p->b0;
        for (int i = 0; i < block->scalars; ++i)
          if (along_m)
            PRODUCT_FROM_COLUMN(spread[i], owns_b, PRODUCT_SPREAD(spread[i], b, wide_b, from_b + block->scalar_at[i]));
          else
            PRODUCT_FROM_ROW(spread[i], owns_a, PRODUCT_SPREAD(spread[i], a, wide_a, from_a + block->scalar_at[i]));
        for (int v = 0; v < block->vectors; ++v)
          if (along_m)
            PRODUCT_FROM_ROW(along[v], owns_a, PRODUCT_LOAD(along[v], a, wide_a, from_a + block->vector_at[v]));
          else if (block->pitch == 1)
            PRODUCT_FROM_COLUMN(along[v], owns_b, PRODUCT_LOAD(along[v], b, wide_b, from_b + block->vector_at[v]));
          else
            PRODUCT_FROM_COLUMN(
                along[v], owns_b,
                along[v] = PRODUCT_GATHER(b, wide_b, from_b + block->vector_at[v], block->pitch, block->lanes[v]));
        for (int i = 0; i < block->scalars; ++i)
          for (int v = 0; v < block->vectors; ++v) sum[i][v] = PRODUCT_ADD(spread[i], along[v], sum[i][v]);
      }
  for (int i = 0; i < block->scalars; ++i)
    for (int v = 0; v < block->vectors; ++v) {
      PRODUCT_SUM* const home = sums + block->sum_at[i][v];
      PRODUCT_SUM lane[product_most_lanes] __attribute__((aligned(64)));
      if (block->lanes[v] == PRODUCT_LANES && block->sum_pitch == 1) {
        PRODUCT_STORE_SUM(sum[i][v], home);
        continue;
      }
      PRODUCT_STORE_SUM(sum[i][v], lane);
      for (int l = 0; l < block->lanes[v]; ++l) home[l * block->sum_pitch] = lane[l];
    }
}

static void PRODUCT_NAME(PRODUCT_SUM* sums, const void* a, const void* b, const port_product* p) {
  const int along_m = p->b_n0 != 1 && p->a_m == 1, columns = p->n2 * p->n1 * p->n0;
  const int scalars = along_m ? columns : p->m, length = along_m ? p->m : p->n0;
  const int in_a_row = (length + PRODUCT_LANES - 1) / PRODUCT_LANES,
            vectors = along_m ? in_a_row : in_a_row * p->n2 * p->n1;
  product_block block;
  block.sum_pitch = along_m ? columns : 1;
  block.pitch = p->b_n0;
  for (int first_vector = 0; first_vector < vectors; first_vector += product_vectors) {
    const int v_left = vectors - first_vector;
    block.vectors = v_left < product_vectors ? v_left : product_vectors;
    for (int first = 0; first < scalars; first += product_scalars) {
      block.scalars = scalars - first < product_scalars ? scalars - first : product_scalars;
      for (int v = 0; v < block.vectors; ++v) {
        const int number = first_vector + v, at = number % in_a_row * PRODUCT_LANES;
        const int column = number / in_a_row * p->n0 + at; /* along n0 */
        block.lanes[v] = length - at < PRODUCT_LANES ? length - at : PRODUCT_LANES;
        block.vector_at[v] = along_m ? at : product_column(p, column);
        for (int i = 0; i < block.scalars; ++i)
          block.sum_at[i][v] = along_m ? (long)at * columns + first + i : (long)(first + i) * columns + column;
      }
      for (int i = 0; i < block.scalars; ++i)
        block.scalar_at[i] = along_m ? product_column(p, first + i) : (long)(first + i) * p->a_m;
      if (along_m)
        PRODUCT_RUN(sums, a, b, p, &block, 1);
      else
        PRODUCT_RUN(sums, a, b, p, &block, 0);
    }
  }
}

#undef PRODUCT_GATHER
#undef PRODUCT_RUN
#undef PRODUCT_JOIN
#undef PRODUCT_JOIN_
#undef PRODUCT_NAME
#undef PRODUCT_SUM
#undef PRODUCT_VECTOR
#undef PRODUCT_LANES
#undef PRODUCT_LOAD_SUM
#undef PRODUCT_STORE_SUM
#undef PRODUCT_SPREAD
#undef PRODUCT_LOAD
#undef PRODUCT_IS_WIDE
#undef PRODUCT_ADD
