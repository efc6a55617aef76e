/* The port on SW26010-Pro: athread with remote memory access (RMA) between scratchpads, where SW26010 has register
 * communication. Slave side. Scratchpad of 256 KB: 72 KB for programs, two receive buffers of as much, since an operand
 * that is shared must lie somewhere, 4 KB for the context, the rest is the stack and the cache. */
#include "backends/sunway/port.h"

#include <simd.h>
#include <slave.h>

static __thread_local char scratch[port_scratch_bytes] __attribute__((aligned(128)));
static __thread_local char bounce[port_bounce_bytes] __attribute__((aligned(128)));
static __thread_local char from_row[port_scratch_bytes] __attribute__((aligned(128)));
static __thread_local char from_col[port_scratch_bytes] __attribute__((aligned(128)));

int port_row(void) { return athread_get_id(-1) / port_mesh_cols; }
int port_col(void) { return athread_get_id(-1) % port_mesh_cols; }
void* port_scratch(void) { return scratch; }
void* port_bounce(void) { return bounce; }

/* destination, source, bytes, [block, stride,] reply. The stride is the gap between blocks, as on SW26010. */
void port_get(void* ldm, const void* memory, int bytes, port_reply* reply) {
  athread_dma_iget(ldm, (void*)memory, (size_t)bytes, (athread_rply_t*)&reply->arrived);
}
void port_put(void* memory, const void* ldm, int bytes, port_reply* reply) {
  athread_dma_iput(memory, (void*)ldm, (size_t)bytes, (athread_rply_t*)&reply->arrived);
}
void port_get_strided(void* ldm, const void* memory, int bytes, int block, int gap, port_reply* reply) {
  athread_dma_iget_stride(ldm, (void*)memory, (size_t)bytes, (size_t)block, gap, (athread_rply_t*)&reply->arrived);
}
void port_put_strided(void* memory, const void* ldm, int bytes, int block, int gap, port_reply* reply) {
  athread_dma_iput_stride(memory, (void*)ldm, (size_t)bytes, (size_t)block, gap, (athread_rply_t*)&reply->arrived);
}
void port_wait(port_reply* reply, int count) { athread_dma_wait_value((athread_rply_t*)&reply->arrived, count); }

void port_barrier(void) { athread_ssync_array(); }

/* There are no registers to send to: port_row_send and its like are not here, and no program of Cortado calls them. */

/* ---- the multiply: whole operands are broadcast along rows and columns, then multiplied from the receive buffers. */
#include "backends/sunway/product.h"

static double product_float(const void* operand, long at) { return (double)((const float*)operand)[at]; }
static double product_double(const void* operand, long at) { return ((const double*)operand)[at]; }

#define DEFINE_MULTIPLY(T, element)                                                                                   \
  static doublev4 four_rows(const port_product* p, const void* a, int m, int rows, long at) {                         \
    double row[4] = {0, 0, 0, 0};                                                                                     \
    for (int i = 0; i < rows; ++i) row[i] = element(a, (long)(m + i) * p->a_m + at);                                  \
    return simd_set_doublev4(row[0], row[1], row[2], row[3]);                                                         \
  }                                                                                                                   \
  static doublev4 four_columns(const port_product* p, const void* b, int n, long at) {                                \
    double column[4] = {0, 0, 0, 0};                                                                                  \
    for (int l = 0; l < 4 && n + l < p->n2 * p->n1 * p->n0; ++l) column[l] = element(b, product_column(p, n + l) + at); \
    return simd_set_doublev4(column[0], column[1], column[2], column[3]);                                             \
  }                                                                                                                   \
  PRODUCT_BLOCKS(T)

#define four_rows four_rows_float
#define four_columns four_columns_float
#define product_block product_block_float
#define product_blocks product_blocks_float
DEFINE_MULTIPLY(float, product_float)
#undef four_rows
#undef four_columns
#undef product_block
#undef product_blocks
DEFINE_MULTIPLY(double, product_double)

/* What CPE (row, step) and CPE (step, column) share, here. Those two broadcast; the barriers keep a buffer from being
 * written while another CPE still reads it. */
static void share(const void** a, const void** b, const port_product* p, int element_bytes) {
  volatile athread_rply_t sent = 0, row_came = 0, col_came = 0;
  const int owns_a = port_col() == p->step, owns_b = port_row() == p->step;
  athread_ssync_array();
  if (owns_a)
    athread_rma_row_ibcast(from_row, (void*)*a, (size_t)p->a_elements * element_bytes, (athread_rply_t*)&sent,
                           (athread_rply_t*)&row_came);
  if (owns_b)
    athread_rma_col_ibcast(from_col, (void*)*b, (size_t)p->b_elements * element_bytes, (athread_rply_t*)&sent,
                           (athread_rply_t*)&col_came);
  athread_rma_wait_value((athread_rply_t*)&sent, owns_a + owns_b);
  athread_ssync_array();
  if (!owns_a) *a = from_row;
  if (!owns_b) *b = from_col;
}

void port_multiply_float(float* sums, const void* a, const void* b, const port_product* product) {
  if (product->step >= 0) share(&a, &b, product, 4);
  product_blocks_float(sums, a, b, product);
}
void port_multiply_double(double* sums, const double* a, const double* b, const port_product* product) {
  const void *left = a, *right = b;
  if (product->step >= 0) share(&left, &right, product, 8);
  product_blocks(sums, left, right, product);
}
