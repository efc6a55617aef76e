/* The athread port: everything that Cortado asks of a Sunway processor. C, so that a slave compiler without C++ can
 * compile its implementations. Three implement it: sw26010/ (athread with register communication), sw26010pro/ (athread
 * with RMA), and sim/ (64 fibers on the host that check and count cycles, as either machine).
 *
 * Cluster side: functions called on a CPE. Sizes are bytes, multiples of 4; both addresses are multiples of 4.
 * Management side: functions called on the MPE. */
#ifndef CORTADO_SUNWAY_PORT_H
#define CORTADO_SUNWAY_PORT_H

#ifdef __cplusplus
extern "C" {
#endif

enum { port_mesh_rows = 8, port_mesh_cols = 8, port_cpes = 64 };

/* ---- where a CPE is */

int port_row(void);
int port_col(void);
int port_core_group(void); /* of this process's processor, from 0 on */

/* ---- scratchpad (LDM) */

/* The scratchpad that a launch may use, aligned to 128; of the machine's description's bytes (backends/sunway/costs.h).
 * What is left of the LDM (64 KB on SW26010, 256 KB on SW26010-Pro) holds the stack, the transfer counters, the cache,
 * and PORT_BOUNCE_BYTES for the context's own use. */
enum { port_bounce_bytes = 4 * 1024 };
#ifdef CORTADO_SUNWAY_PRO
enum { port_scratch_bytes = 200 * 1024 };
#elif !defined(CORTADO_SUNWAY_SIM)
enum { port_scratch_bytes = 56 * 1024 };
#endif
void* port_scratch(void);
void* port_bounce(void);

/* ---- transfers (DMA) between memory and this CPE's scratchpad; asynchronous */

/* Counts transfers that have arrived. Lives in the scratchpad (the stack does); zero before use. */
typedef struct {
  volatile int arrived;
} port_reply;

/* Contiguous. athread_get(PE_MODE, memory, ldm, bytes, &reply, 0, 0, 0) names the source first;
 * athread_put(PE_MODE, ldm, memory, bytes, &reply, 0, 0) too. On the Pro the destination comes first:
 * athread_dma_iget(ldm, memory, bytes, &reply). Here the destination is always first. */
void port_get(void* ldm, const void* memory, int bytes, port_reply* reply);
void port_put(void* memory, const void* ldm, int bytes, port_reply* reply);

/* Strided in memory, dense in the scratchpad: `bytes` in all, in blocks of `block`, `gap` bytes of memory left out
 * between the end of a block and the beginning of the next. athread's `stride` is this gap on SW26010, not the distance
 * of block beginnings; its order is stride, then bsize. The Pro takes bsize, then stride, and also means the gap. */
void port_get_strided(void* ldm, const void* memory, int bytes, int block, int gap, port_reply* reply);
void port_put_strided(void* memory, const void* ldm, int bytes, int block, int gap, port_reply* reply);

/* Returns when `count` transfers of this reply have arrived. */
void port_wait(port_reply* reply, int count);

/* ---- register communication, on SW26010: 256 bits to CPEs of the same row or column, through FIFOs that stall the
 * sender when full and the receiver when empty. Messages carry no sender: a receiver takes what comes along the row
 * (column) next. */

typedef struct {
  double lane[4];
} port_vector;

void port_row_send(port_vector v, int col);
void port_row_broadcast(port_vector v); /* to the seven others */
port_vector port_row_receive(void);
void port_col_send(port_vector v, int row);
void port_col_broadcast(port_vector v);
port_vector port_col_receive(void);

/* ---- remote memory access (RMA), on SW26010-Pro: from this scratchpad to others, asynchronous. `destination` and
 * `came` are places of this scratchpad that stand for the same places of the receivers'. `sent` counts here what has
 * left, `came` counts at each receiver what has arrived. A broadcast goes to all CPEs of the row (column), its sender
 * too. */
void port_rma_put(void* destination, const void* source, int bytes, int cpe, port_reply* sent, port_reply* came);
void port_rma_row_broadcast(void* destination, const void* source, int bytes, port_reply* sent, port_reply* came);
void port_rma_col_broadcast(void* destination, const void* source, int bytes, port_reply* sent, port_reply* came);
/* Returns when `count` have left, or arrived. Replies count on: they are never set back. */
void port_rma_wait(port_reply* reply, int count);
/* What sharing by RMA keeps (share.h), at one place in all scratchpads. */
struct port_sharing;
struct port_sharing* port_sharing_here(void);

/* Slots that a plan books for a shared operand's arrival; none where operands pass through registers. */
enum { port_rma_slots = 2 };
#ifdef CORTADO_SUNWAY_SIM
int port_receive_slots(void);
#elif defined(CORTADO_SUNWAY_PRO)
#define port_receive_slots() ((int)port_rma_slots)
#else
#define port_receive_slots() 0
#endif

/* ---- the inner multiply of a tile program */

/* One CPE's part of a product with shared operands (swCaffe section IV-A):
 *   sums(m, n2, n1, n0) += sum over taps (t1, t0) and k of
 *       a[a_first + m a_m + k a_k + t1 a1 + t0 a0] b[b_first + k b_k + n2 b_n2 + n1 b_n1 + n0 b_n0 + t1 b1 + t0 b0]
 * with sums dense, row-major over (m, n2, n1, n0). With step >= 0 `a` is what CPE (row, step) gives here and `b` what
 * CPE (step, column) gives: those two send theirs along the row and the column, all 64 call with the same sizes, and
 * with the same operands for step + 1 next, until the last. With step -1 the CPE multiplies its own. Operands of
 * single-precision sums are of single precision too. SW26010 widens them each time they are loaded, unless they were
 * widened before; SW26010-Pro adds in single precision. */
typedef struct {
  int m, n2, n1, n0, k;
  int count1, count0; /* taps */
  int a_first, a_m, a_k, a1, a0;
  int b_first, b_k, b_n2, b_n1, b_n0, b1, b0;
  int step;
  int a_elements, b_elements; /* of the staged operands, for receive buffers and checks */
  int a_widened, b_widened;   /* whether an operand of single-precision sums is an array of doubles */
  /* With receive slots: where shared operands arrive, the bytes of such a slot, and numbers that tell operands apart.
   */
  char *a_slots, *b_slots;
  int a_slot_bytes, b_slot_bytes;
  int a_serial, b_serial;
} port_product;

void port_multiply_float(float* sums, const void* a, const void* b, const port_product* product);
void port_multiply_double(double* sums, const double* a, const double* b, const port_product* product);
/* To be called at the end of a program: what was shared ahead must have arrived. */
void port_share_end(void);

/* ---- all CPEs of the cluster */

void port_barrier(void);

/* ---- what simulators count and check; nothing elsewhere */

/* Lane-loop work: `elements` iterations of `bytes`-wide elements, of which each does these operations. */
typedef struct {
  int loads, stores, arithmetic, divisions;
} port_operations;
#ifdef CORTADO_SUNWAY_SIM
void port_count(long elements, int element_bytes, const port_operations* each);
void port_name(const char* operation, int buffer); /* what the CPE does now, for errors and profiles */
int port_timing_only(void);                        /* whether arithmetic and data movement are left out */
/* What this CPE does until the end stands for `times` as much, where only time is kept. Samples nest. */
void port_sample_begin(double times);
void port_sample_end(void);
#else
#define port_count(elements, element_bytes, each) ((void)0)
#define port_name(operation, buffer) ((void)0)
#define port_timing_only() 0
#endif

/* ---- management side */

/* What runs on every CPE; `argument` lies in memory. */
typedef void (*port_entry)(void* argument);

/* Starts `entry` on all CPEs of this process's core group. One launch at a time. */
void port_spawn(port_entry entry, void* argument);
/* Waits for its end. */
void port_join(void);

#ifdef __cplusplus
}
#endif
#endif
