/* The port on SW26010: athread and register communication. Slave side; plain C, as the machine's own slave compiler wants
 * it. LDM: 56 KB for programs, 4 KB for the context, the rest is the stack. */
#include "backends/sunway/port.h"

#include <simd.h>
#include <slave.h>

static __thread_local char scratch[port_scratch_bytes] __attribute__((aligned(128)));
static __thread_local char bounce[port_bounce_bytes] __attribute__((aligned(128)));

int port_row(void) { return athread_get_id(-1) / port_mesh_cols; }
int port_col(void) { return athread_get_id(-1) % port_mesh_cols; }
void* port_scratch(void) { return scratch; }
void* port_bounce(void) { return bounce; }

/* mode, source, destination, bytes, reply, mask, stride, block; put has no mask. The stride is the gap between blocks. */
void port_get(void* ldm, const void* memory, int bytes, port_reply* reply) {
  athread_get(PE_MODE, (void*)memory, ldm, bytes, (void*)&reply->arrived, 0, 0, 0);
}
void port_put(void* memory, const void* ldm, int bytes, port_reply* reply) {
  athread_put(PE_MODE, (void*)ldm, memory, bytes, (void*)&reply->arrived, 0, 0);
}
void port_get_strided(void* ldm, const void* memory, int bytes, int block, int gap, port_reply* reply) {
  athread_get(PE_MODE, (void*)memory, ldm, bytes, (void*)&reply->arrived, 0, gap, block);
}
void port_put_strided(void* memory, const void* ldm, int bytes, int block, int gap, port_reply* reply) {
  athread_put(PE_MODE, (void*)ldm, memory, bytes, (void*)&reply->arrived, gap, block);
}
void port_wait(port_reply* reply, int count) {
  while (reply->arrived < count) {
  }
}

/* A destination of 8 stands for the whole row or column. */
static doublev4 from_port(port_vector v) { return simd_set_doublev4(v.lane[0], v.lane[1], v.lane[2], v.lane[3]); }
static port_vector to_port(doublev4 v) {
  port_vector made;
  simd_store(v, made.lane);
  return made;
}
void port_row_send(port_vector v, int col) { simd_putr(from_port(v), col); }
void port_row_broadcast(port_vector v) { simd_putr(from_port(v), port_mesh_cols); }
port_vector port_row_receive(void) { return to_port(simd_getr(simd_set_doublev4(0, 0, 0, 0))); }
void port_col_send(port_vector v, int row) { simd_putc(from_port(v), row); }
void port_col_broadcast(port_vector v) { simd_putc(from_port(v), port_mesh_rows); }
port_vector port_col_receive(void) { return to_port(simd_getc(simd_set_doublev4(0, 0, 0, 0))); }

void port_barrier(void) { athread_syn(ARRAY_SCOPE, 0xffff); }

/* ---- the multiply. Every factor passes the mesh in the moment it is needed: who owns it loads, widens and sends it, the
 * seven others take it from their FIFO. */
#define DEFINE_MULTIPLY(T, element_a, element_b)                                                                      \
  static doublev4 four_rows(const port_product* p, const void* a, int m, int rows, long at) {                         \
    if (p->step >= 0 && port_col() != p->step) return simd_getr(simd_set_doublev4(0, 0, 0, 0));                       \
    double row[4] = {0, 0, 0, 0};                                                                                     \
    for (int i = 0; i < rows; ++i) row[i] = element_a(a, p->a_widened, (long)(m + i) * p->a_m + at);                  \
    const doublev4 v = simd_set_doublev4(row[0], row[1], row[2], row[3]);                                             \
    if (p->step >= 0) simd_putr(v, port_mesh_cols);                                                                   \
    return v;                                                                                                         \
  }                                                                                                                   \
  static doublev4 four_columns(const port_product* p, const void* b, int n, long at) {                                \
    if (p->step >= 0 && port_row() != p->step) return simd_getc(simd_set_doublev4(0, 0, 0, 0));                       \
    double column[4] = {0, 0, 0, 0};                                                                                  \
    for (int l = 0; l < 4 && n + l < p->n2 * p->n1 * p->n0; ++l)                                                      \
      column[l] = element_b(b, p->b_widened, product_column(p, n + l) + at);                                          \
    const doublev4 v = simd_set_doublev4(column[0], column[1], column[2], column[3]);                                 \
    if (p->step >= 0) simd_putc(v, port_mesh_rows);                                                                   \
    return v;                                                                                                         \
  }                                                                                                                   \
  PRODUCT_BLOCKS(T)

#include "backends/sunway/product.h"

/* Element `at` of an operand of single precision that may have been widened. */
static double product_single(const void* operand, int widened, long at) {
  return widened ? ((const double*)operand)[at] : (double)((const float*)operand)[at];
}

static double product_double(const void* operand, int widened, long at) {
  (void)widened;
  return ((const double*)operand)[at];
}

#define four_rows four_rows_float
#define four_columns four_columns_float
#define product_block product_block_float
#define product_blocks product_blocks_float
DEFINE_MULTIPLY(float, product_single, product_single)
#undef four_rows
#undef four_columns
#undef product_block
#undef product_blocks
DEFINE_MULTIPLY(double, product_double, product_double)

void port_multiply_float(float* sums, const void* a, const void* b, const port_product* product) {
  product_blocks_float(sums, a, b, product);
}
void port_multiply_double(double* sums, const double* a, const double* b, const port_product* product) {
  product_blocks(sums, a, b, product);
}
