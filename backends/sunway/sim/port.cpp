// The port on the simulator: every function acts for the CPE whose fiber runs.
#include "backends/sunway/port.h"

#include "backends/sunway/share.h"
#include "backends/sunway/sim/machine.h"

using cortado::sunway::sim::Cpe;
using cortado::sunway::sim::Machine;

namespace {
Cpe& me() { return Machine::here().current(); }
void move(void* ldm, const void* memory, int bytes, int block, int gap, bool put, const port_reply* reply) {
  Machine::here().transfer(static_cast<char*>(ldm), static_cast<const char*>(memory), bytes, block, gap, put, reply);
}

static_assert(sizeof(port_sharing) <= cortado::sunway::sim::sharing_bytes, "what sharing keeps has its place");

/// A machine with register communication multiplies what passes through registers. One with RMA brings the operands
/// here by share.h, as the port of that machine does, and multiplies its own.
template <class T>
void multiply(T* sums, const void* a, const void* b, const port_product& p) {
  Machine& machine = Machine::here();
  if (!machine.costs().has_rma || p.step < 0) return machine.multiply(sums, a, b, p);
  if (p.step >= port_mesh_cols) machine.violation("shares for step " + std::to_string(p.step));
  if (p.a_slots == nullptr || p.b_slots == nullptr)
    machine.violation("shares an operand for which no receive slots are booked (PlanBuilder::operand, spill)");
  share_operands(&p, &a, &b, static_cast<int>(sizeof(T)));
  machine.check_received(a, p.a_elements * static_cast<cortado::i64>(sizeof(T)));
  machine.check_received(b, p.b_elements * static_cast<cortado::i64>(sizeof(T)));
  port_product own = p;
  own.step = -1;
  machine.multiply(sums, a, b, own);
}

char* bytes_at(void* p) { return static_cast<char*>(p); }
const char* bytes_at(const void* p) { return static_cast<const char*>(p); }
}  // namespace

extern "C" {

int port_row(void) { return me().row; }
int port_col(void) { return me().col; }
int port_core_group(void) { return Machine::here().core_group(); }
void* port_scratch(void) { return me().ldm; }
void* port_bounce(void) { return me().bounce; }

void port_get(void* ldm, const void* memory, int bytes, port_reply* reply) {
  move(ldm, memory, bytes, bytes, 0, false, reply);
}
void port_put(void* memory, const void* ldm, int bytes, port_reply* reply) {
  move(const_cast<void*>(ldm), memory, bytes, bytes, 0, true, reply);
}
void port_get_strided(void* ldm, const void* memory, int bytes, int block, int gap, port_reply* reply) {
  move(ldm, memory, bytes, block, gap, false, reply);
}
void port_put_strided(void* memory, const void* ldm, int bytes, int block, int gap, port_reply* reply) {
  move(const_cast<void*>(ldm), memory, bytes, block, gap, true, reply);
}
void port_wait(port_reply* reply, int count) { Machine::here().wait(reply, count); }

void port_row_send(port_vector v, int col) {
  if (col < 0) Machine::here().violation("sends along its row to column " + std::to_string(col));
  Machine::here().send(v, col, true);
}
void port_row_broadcast(port_vector v) { Machine::here().send(v, -1, true); }
port_vector port_row_receive(void) { return Machine::here().receive(true); }
void port_col_send(port_vector v, int row) {
  if (row < 0) Machine::here().violation("sends along its column to row " + std::to_string(row));
  Machine::here().send(v, row, false);
}
void port_col_broadcast(port_vector v) { Machine::here().send(v, -1, false); }
port_vector port_col_receive(void) { return Machine::here().receive(false); }

int port_receive_slots(void) { return Machine::here().costs().has_rma ? port_rma_slots : 0; }
void port_rma_put(void* destination, const void* source, int bytes, int cpe, port_reply* sent, port_reply* came) {
  Machine::here().rma_put(bytes_at(destination), bytes_at(source), bytes, cpe, sent, came);
}
void port_rma_row_broadcast(void* destination, const void* source, int bytes, port_reply* sent, port_reply* came) {
  Machine::here().rma_broadcast(bytes_at(destination), bytes_at(source), bytes, true, sent, came);
}
void port_rma_col_broadcast(void* destination, const void* source, int bytes, port_reply* sent, port_reply* came) {
  Machine::here().rma_broadcast(bytes_at(destination), bytes_at(source), bytes, false, sent, came);
}
void port_rma_wait(port_reply* reply, int count) { Machine::here().rma_wait(reply, count); }
struct port_sharing* port_sharing_here(void) {
  return reinterpret_cast<struct port_sharing*>(Machine::here().sharing());
}
void port_share_end(void) { share_end(); }

void port_multiply_float(float* sums, const void* a, const void* b, const port_product* product) {
  multiply(sums, a, b, *product);
}
void port_multiply_double(double* sums, const double* a, const double* b, const port_product* product) {
  multiply(sums, a, b, *product);
}

void port_barrier(void) { Machine::here().barrier(); }

void port_count(long elements, int, const port_operations* each) { Machine::here().count(elements, *each); }
void port_name(const char* operation, int buffer) {
  me().operation = operation;
  me().buffer = buffer;
  Machine::here().call();
}
void port_sample_begin(double times) { Machine::here().begin_sample(times); }
void port_sample_end(void) { Machine::here().end_sample(); }
int port_timing_only(void) { return Machine::here().timing_only() ? 1 : 0; }

}  // extern "C"
