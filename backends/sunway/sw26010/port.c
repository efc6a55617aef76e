/* The port on SW26010: athread and register communication. Slave side; plain C, as the machine's own slave compiler wants
 * it. LDM: 56 KB for programs, 4 KB for the context, the rest is the stack. */
#include "backends/sunway/port.h"

#include <simd.h>
#include <slave.h>

/* Vectors that hang over an operand's end are loaded whole. */
enum { port_slack = 64 };
static __thread_local char scratch[port_scratch_bytes + port_slack] __attribute__((aligned(128)));
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
static doublev4 from_port(port_vector v) {
  doublev4 made;
  simd_loadu(made, v.lane);
  return made;
}
static port_vector to_port(doublev4 v) {
  port_vector made;
  simd_storeu(v, made.lane);
  return made;
}
void port_row_send(port_vector v, int col) { simd_putr(from_port(v), col); }
void port_row_broadcast(port_vector v) { simd_putr(from_port(v), port_mesh_cols); }
port_vector port_row_receive(void) { return to_port(simd_getr((doublev4){0})); }
void port_col_send(port_vector v, int row) { simd_putc(from_port(v), row); }
void port_col_broadcast(port_vector v) { simd_putc(from_port(v), port_mesh_rows); }
port_vector port_col_receive(void) { return to_port(simd_getc((doublev4){0})); }

void port_barrier(void) { athread_syn(ARRAY_SCOPE, 0xffff); }

void port_share_end(void) {} /* operands pass through registers */

/* ---- the multiply. Every factor passes the mesh in the moment it is needed: who owns it loads, widens and sends it, the
 * seven others take it from their FIFO. The compiler turns the cast of a vector of floats into its conversion. */
#ifndef port_widened
#define port_widened(v) ((doublev4)(v))
#define port_narrowed(v) ((floatv4)(v))
#endif

#define PRODUCT_FROM_ROW(v, owns, made)                        \
  do {                                                         \
    if (owns) {                                                \
      made;                                                    \
      if (shares) simd_putr(v, port_mesh_cols);                \
    } else {                                                   \
      v = simd_getr(v);                                        \
    }                                                          \
  } while (0)
#define PRODUCT_FROM_COLUMN(v, owns, made)                     \
  do {                                                         \
    if (owns) {                                                \
      made;                                                    \
      if (shares) simd_putc(v, port_mesh_rows);                \
    } else {                                                   \
      v = simd_getc(v);                                        \
    }                                                          \
  } while (0)

static inline doublev4 port_spread(const void* x, int is_wide, long at) {
  doublev4 wide;
  floatv4 narrow;
  if (is_wide) {
    simd_loade(wide, (double*)x + at);
    return wide;
  }
  simd_loade(narrow, (float*)x + at);
  return port_widened(narrow);
}
static inline doublev4 port_load(const void* x, int is_wide, long at) {
  doublev4 wide;
  floatv4 narrow;
  if (is_wide) {
    simd_loadu(wide, (double*)x + at);
    return wide;
  }
  simd_loadu(narrow, (float*)x + at);
  return port_widened(narrow);
}
#define PRODUCT_SPREAD(v, x, is_wide, at) v = port_spread(x, is_wide, at)
#define PRODUCT_LOAD(v, x, is_wide, at) v = port_load(x, is_wide, at)
#define PRODUCT_ADD(left, right, sum) simd_vmad(left, right, sum)
#define PRODUCT_VECTOR doublev4
#define PRODUCT_LANES 4
#define PRODUCT_NAME product_float
#define PRODUCT_SUM float
#define PRODUCT_IS_WIDE(widened) (widened)
#define PRODUCT_LOAD_SUM(v, s) v = port_load(s, 0, 0)
#define PRODUCT_STORE_SUM(v, s)             \
  do {                                      \
    floatv4 narrow = port_narrowed(v);      \
    simd_storeu(narrow, s);                 \
  } while (0)
#include "backends/sunway/product.h"

#define PRODUCT_SPREAD(v, x, is_wide, at) v = port_spread(x, is_wide, at)
#define PRODUCT_LOAD(v, x, is_wide, at) v = port_load(x, is_wide, at)
#define PRODUCT_ADD(left, right, sum) simd_vmad(left, right, sum)
#define PRODUCT_VECTOR doublev4
#define PRODUCT_LANES 4
#define PRODUCT_NAME product_double
#define PRODUCT_SUM double
#define PRODUCT_IS_WIDE(widened) 1
#define PRODUCT_LOAD_SUM(v, s) simd_loadu(v, s)
#define PRODUCT_STORE_SUM(v, s) simd_storeu(v, s)
#include "backends/sunway/product.h"

void port_multiply_float(float* sums, const void* a, const void* b, const port_product* product) {
  product_float(sums, a, b, product);
}
void port_multiply_double(double* sums, const double* a, const double* b, const port_product* product) {
  product_double(sums, a, b, product);
}
