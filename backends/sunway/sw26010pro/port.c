/* The port on SW26010-Pro: athread with remote memory access (RMA) between scratchpads, where SW26010 has register
 * communication. Slave side. Scratchpad of 256 KB: 200 KB for programs, whose plans book receive slots, since an operand
 * that is shared must lie somewhere; 4 KB for the context; the rest is the cache, the stack and the replies. */
#include "backends/sunway/port.h"

#include <simd.h>
#include <slave.h>

#include "backends/sunway/share.h"

/* Vectors that hang over an operand's end are loaded whole. */
enum { port_slack = 64 };
static __thread_local char scratch[port_scratch_bytes + port_slack] __attribute__((aligned(128)));
static __thread_local char bounce[port_bounce_bytes] __attribute__((aligned(128)));

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

/* ---- RMA. A __thread_local object lies at one place in all scratchpads. */
static __thread_local struct port_sharing sharing __attribute__((aligned(64)));
struct port_sharing* port_sharing_here(void) { return &sharing; }

void port_rma_put(void* destination, const void* source, int bytes, int cpe, port_reply* sent, port_reply* came) {
  athread_rma_iput((void*)source, (athread_rply_t*)&sent->arrived, (size_t)bytes, cpe, destination,
                   (athread_rply_t*)&came->arrived);
}
void port_rma_row_broadcast(void* destination, const void* source, int bytes, port_reply* sent, port_reply* came) {
  athread_rma_row_ibcast(destination, (void*)source, (size_t)bytes, (athread_rply_t*)&sent->arrived,
                         (athread_rply_t*)&came->arrived);
}
void port_rma_col_broadcast(void* destination, const void* source, int bytes, port_reply* sent, port_reply* came) {
  athread_rma_col_ibcast(destination, (void*)source, (size_t)bytes, (athread_rply_t*)&sent->arrived,
                         (athread_rply_t*)&came->arrived);
}
void port_rma_wait(port_reply* reply, int count) { athread_rma_wait_value((athread_rply_t*)&reply->arrived, count); }
void port_share_end(void) { share_end(); }

/* ---- the multiply, of what share.h brought here. Sums of single precision are of single precision in registers too: a
 * register holds eight floats, as it holds eight doubles. */
#define PRODUCT_FROM_ROW(v, owns, made) ((void)(owns), made)
#define PRODUCT_FROM_COLUMN(v, owns, made) ((void)(owns), made)

#define PRODUCT_NAME product_float
#define PRODUCT_SUM float
#define PRODUCT_VECTOR floatv8
#define PRODUCT_LANES 8
#define PRODUCT_IS_WIDE(widened) 0
#define PRODUCT_LOAD_SUM(v, s) simd_loadu(v, s)
#define PRODUCT_STORE_SUM(v, s) simd_storeu(v, s)
#define PRODUCT_SPREAD(v, x, is_wide, at) ((void)(is_wide), v = simd_vcpyfs(((const float*)x)[at]))
#define PRODUCT_LOAD(v, x, is_wide, at) simd_loadu(v, (float*)x + (at))
#define PRODUCT_ADD(left, right, sum) simd_vmas(left, right, sum)
#include "backends/sunway/product.h"

#define PRODUCT_NAME product_double
#define PRODUCT_SUM double
#define PRODUCT_VECTOR doublev8
#define PRODUCT_LANES 8
#define PRODUCT_IS_WIDE(widened) 1
#define PRODUCT_LOAD_SUM(v, s) simd_loadu(v, s)
#define PRODUCT_STORE_SUM(v, s) simd_storeu(v, s)
#define PRODUCT_SPREAD(v, x, is_wide, at) ((void)(is_wide), v = simd_vcpyfd(((const double*)x)[at]))
#define PRODUCT_LOAD(v, x, is_wide, at) simd_loadu(v, (double*)x + (at))
#define PRODUCT_ADD(left, right, sum) simd_vmad(left, right, sum)
#include "backends/sunway/product.h"

static void multiply_own(void* sums, const void* a, const void* b, const port_product* product, int element_bytes) {
  port_product own = *product;
  if (own.step >= 0) share_operands(product, &a, &b, element_bytes);
  own.step = -1;
  if (element_bytes == 4)
    product_float((float*)sums, a, b, &own);
  else
    product_double((double*)sums, a, b, &own);
}
void port_multiply_float(float* sums, const void* a, const void* b, const port_product* product) {
  multiply_own(sums, a, b, product, 4);
}
void port_multiply_double(double* sums, const double* a, const double* b, const port_product* product) {
  multiply_own(sums, a, b, product, 8);
}
