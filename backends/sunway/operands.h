#pragma once
#include "backends/sunway/handles.h"
#include "backends/sunway/port.h"
#include "backends/sunway/value.h"

namespace cortado::sunway {

/// An operand that reads a block of the CPE's own.
template <class T>
Staged<T> own(const OutBlock<T>& block, int serial) {
  Staged<T> operand;
  operand.slots = block.slots, operand.serial = serial;
  operand.p = block.p, operand.elements = static_cast<int>(block.rows * block.cols);
  return operand;
}

template <class T, class To>
void copy(const Staged<T>& o, To* to) {
  for (i64 i = 0; i < o.elements; ++i) to[i] = o.rows > 0 ? o.p[i % o.cols * o.rows + i / o.cols] : o.p[i];
}

/// Makes the copy that is multiplied, once.
template <class T>
void prepare(Staged<T>& o) {
  [[maybe_unused]] static const port_operations widen = {1, 1, 1, 0},
                                                shuffle = {1, 1, 3, 0};  // four vectors turn by eight shuffles
  if (o.copy == nullptr || o.copied) return;
  o.copied = true;
  port_count(o.elements, 4, o.rows > 0 ? &shuffle : &widen);
  if (port_timing_only()) return;
  load(o.p), load(o.p + o.elements - 1);  // which a simulator checks: it must have arrived
  if (o.widened)
    copy(o, static_cast<double*>(o.copy));
  else
    copy(o, static_cast<T*>(o.copy));
}

/// The multiply of port.h that belongs to an accumulator and shared operands.
template <class T>
port_product product_of(const TileShape& s, const LeftOperand<T>& a, const RightOperand<T>& b, const Taps& taps,
                        int step) {
  const auto narrow = [](i64 v) { return static_cast<int>(v); };
  port_product p;
  p.m = narrow(s.m), p.n2 = narrow(s.n2), p.n1 = narrow(s.n1), p.n0 = narrow(s.n0), p.k = narrow(s.k);
  p.count1 = narrow(taps.count1), p.count0 = narrow(taps.count0);
  p.a_first = narrow(taps.a), p.b_first = narrow(taps.b);
  p.a_m = narrow(a.view.m_stride), p.a_k = narrow(a.view.k_stride), p.a1 = narrow(taps.a1), p.a0 = narrow(taps.a0);
  p.b_k = narrow(b.view.k_stride), p.b_n2 = narrow(b.view.n2_stride), p.b_n1 = narrow(b.view.n1_stride);
  p.b_n0 = narrow(b.view.n0_stride), p.b1 = narrow(taps.b1), p.b0 = narrow(taps.b0);
  p.step = step;
  p.a_elements = a.elements, p.b_elements = b.elements;
  p.a_widened = a.widened ? 1 : 0, p.b_widened = b.widened ? 1 : 0;
  p.a_slots = a.slots.p, p.b_slots = b.slots.p;
  p.a_slot_bytes = a.slots.bytes, p.b_slot_bytes = b.slots.bytes;
  p.a_serial = a.serial, p.b_serial = b.serial;
  return p;
}
inline void multiply(float* sums, const void* a, const void* b, const port_product& p) {
  port_multiply_float(sums, a, b, &p);
}
inline void multiply(double* sums, const void* a, const void* b, const port_product& p) {
  port_multiply_double(sums, static_cast<const double*>(a), static_cast<const double*>(b), &p);
}

}  // namespace cortado::sunway
