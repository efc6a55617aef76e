// The port on the simulator: every function acts for the CPE whose fiber runs.
#include "backends/sunway/port.h"

#include "backends/sunway/sim/machine.h"

using cortado::sunway::sim::Cpe;
using cortado::sunway::sim::Machine;

namespace {
Cpe& me() { return Machine::here().current(); }
void move(void* ldm, const void* memory, int bytes, int block, int gap, bool put, const port_reply* reply) {
  Machine::here().transfer(static_cast<char*>(ldm), static_cast<const char*>(memory), bytes, block, gap, put, reply);
}
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

void port_multiply_float(float* sums, const void* a, const void* b, const port_product* product) {
  Machine::here().multiply(sums, a, b, *product);
}
void port_multiply_double(double* sums, const double* a, const double* b, const port_product* product) {
  Machine::here().multiply(sums, a, b, *product);
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
