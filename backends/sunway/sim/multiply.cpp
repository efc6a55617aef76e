// The multiply of tile programs: its arithmetic, its cycles, and who waits for whom.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/sunway/sim/machine.h"

namespace cortado::sunway::sim {
namespace {

i64 ceil_div(i64 n, i64 by) { return (n + by - 1) / by; }

/// Sums in registers are of type Sum; they come from and go to the scratchpad in their own type.
template <class Sum, class T, class A, class B>
void add_products(T* sums, const A* a, const B* b, const port_product& p) {
  const int n = p.n2 * p.n1 * p.n0;
  static thread_local std::vector<Sum> row;
  row.resize(static_cast<std::size_t>(n));
  for (int m = 0; m < p.m; ++m) {
    T* const home = sums + static_cast<i64>(m) * n;
    std::copy(home, home + n, row.begin());
    for (int t1 = 0; t1 < p.count1; ++t1)
      for (int t0 = 0; t0 < p.count0; ++t0)
        for (int k = 0; k < p.k; ++k) {
          const auto left = static_cast<Sum>(a[p.a_first + m * p.a_m + k * p.a_k + t1 * p.a1 + t0 * p.a0]);
          const B* const right = b + p.b_first + k * p.b_k + t1 * p.b1 + t0 * p.b0;
          Sum* y = row.data();
          for (int n2 = 0; n2 < p.n2; ++n2)
            for (int n1 = 0; n1 < p.n1; ++n1, y += p.n0) {
              const B* const x = right + n2 * p.b_n2 + n1 * p.b_n1;
              if (p.b_n0 == 1)
                for (int n0 = 0; n0 < p.n0; ++n0) y[n0] += left * static_cast<Sum>(x[n0]);
              else
                for (int n0 = 0; n0 < p.n0; ++n0) y[n0] += left * static_cast<Sum>(x[n0 * p.b_n0]);
            }
        }
    for (int i = 0; i < n; ++i) home[i] = static_cast<T>(row[static_cast<std::size_t>(i)]);
  }
}

void add_products(const Costs&, double* sums, const void* a, const void* b, const port_product& p) {
  add_products<double>(sums, static_cast<const double*>(a), static_cast<const double*>(b), p);
}
void add_products(const Costs& c, float* sums, const void* a, const void* b, const port_product& p) {
  const auto *a4 = static_cast<const float*>(a), *b4 = static_cast<const float*>(b);
  const auto *a8 = static_cast<const double*>(a), *b8 = static_cast<const double*>(b);
  if (!c.widens_single) return add_products<float>(sums, a4, b4, p);
  if (p.a_widened != 0 && p.b_widened != 0) return add_products<double>(sums, a8, b8, p);
  if (p.a_widened != 0) return add_products<double>(sums, a8, b4, p);
  if (p.b_widened != 0) return add_products<double>(sums, a4, b8, p);
  add_products<double>(sums, a4, b4, p);
}

/// Cycles of one block of sums, `rows` by `vectors`, for all taps and terms.
double block_cycles(const Costs& c, const port_product& p, int rows, int vectors, double load_vector, bool convert_rows,
                    bool convert_vectors) {
  const double terms = static_cast<double>(p.k) * p.count1 * p.count0;
  // P0 multiplies, and widens what its CPE sends. P1 loads and sends, or receives.
  const double p0 = rows * vectors + (convert_rows ? rows : 0) + (convert_vectors ? vectors : 0);
  const double p1 = rows + vectors * load_vector;
  const double term = std::max({p0, p1, c.arithmetic_latency});
  return terms * term + 2.0 * rows * vectors + c.loop_start;  // sums are loaded before and stored after
}

}  // namespace

double multiply_cycles(const Costs& c, const port_product& p, bool single_precision, bool owns_a, bool owns_b) {
  // Vectors lie along n0 where it is contiguous, else along m, else their elements are gathered one by one.
  const bool along_n = p.b_n0 == 1, along_m = !along_n && p.a_m == 1;
  const i64 length = along_m ? p.m : p.n0, scalars = along_m ? i64{p.n2} * p.n1 * p.n0 : p.m;
  const i64 vectors = ceil_div(length, c.vector_lanes) * (along_m ? 1 : i64{p.n2} * p.n1);
  const bool owns_vector = along_m ? owns_a : owns_b;
  const bool converts = single_precision && c.widens_single, convert_a = converts && owns_a && p.a_widened == 0,
             convert_b = converts && owns_b && p.b_widened == 0;
  const auto whole_vectors = [&](std::initializer_list<int> strides) {
    return std::all_of(strides.begin(), strides.end(), [&](int stride) { return stride % c.vector_lanes == 0; });
  };
  const bool aligned = along_n ? whole_vectors({p.b_first, p.b_k, p.b_n2, p.b_n1, p.b1, p.b0})
                               : whole_vectors({p.a_first, p.a_k, p.a1, p.a0});
  const double load = !along_n && !along_m ? 2.0 * c.vector_lanes - 1 : aligned ? 1 : c.unaligned_load;
  const double gather = owns_vector ? load : 1;  // what comes by messages lies in a register
  double cycles = 0;
  for (i64 v = 0; v < vectors; v += c.block_vectors) {
    const int wide = static_cast<int>(std::min<i64>(c.block_vectors, vectors - v));
    const i64 whole = scalars / c.block_rows;
    const int rest = static_cast<int>(scalars % c.block_rows);
    const auto block = [&](int rows) {
      return block_cycles(c, p, rows, wide, gather, along_m ? convert_b : convert_a, along_m ? convert_a : convert_b);
    };
    cycles += static_cast<double>(whole) * block(c.block_rows) + (rest > 0 ? block(rest) : 0);
    // Blocks of full width cost the same.
    if (wide == c.block_vectors) {
      const i64 more = (vectors - v) / c.block_vectors - 1;
      cycles +=
          static_cast<double>(more) * (static_cast<double>(whole) * block(c.block_rows) + (rest > 0 ? block(rest) : 0));
      v += more * c.block_vectors;
    }
  }
  return cycles;
}

bool Machine::both_came(const Machine& machine, const Cpe& me) {
  return machine.at(me.row, me.product->step).came >= me.came && machine.at(me.product->step, me.col).came >= me.came;
}

bool Machine::taken(const Machine& machine, const Cpe& me) {
  const int step = me.product->step;
  for (int i = 0; i < port_mesh_cols; ++i) {
    if (me.col == step && machine.at(me.row, i).finished < me.came) return false;
    if (me.row == step && machine.at(i, me.col).finished < me.came) return false;
  }
  return true;
}

void Machine::check_operands(const Cpe& me, const Cpe& left, const Cpe& right) const {
  const port_product &mine = *me.product, &a = *left.product, &b = *right.product;
  const bool same = mine.step == a.step && mine.step == b.step && mine.m == a.m && mine.m == b.m && mine.n0 == a.n0 &&
                    mine.n0 == b.n0 && mine.n1 == b.n1 && mine.n2 == b.n2 && mine.k == a.k && mine.k == b.k &&
                    mine.count1 == a.count1 && mine.count1 == b.count1 && mine.count0 == a.count0 &&
                    mine.count0 == b.count0 && mine.a_widened == a.a_widened && mine.b_widened == b.b_widened;
  if (!same)
    violation("multiplies step " + std::to_string(mine.step) + " while CPE (" + std::to_string(left.row) + ", " +
              std::to_string(left.col) + ") shares for step " + std::to_string(a.step) + " and CPE (" +
              std::to_string(right.row) + ", " + std::to_string(right.col) + ") for step " + std::to_string(b.step) +
              ", or their sizes differ");
}

template <class T>
void Machine::multiply(T* sums, const void* a, const void* b, const port_product& p) {
  Cpe& me = *current_;
  constexpr bool single = sizeof(T) == 4;
  profile_.flops += me.weight * 2.0 * p.m * p.n2 * p.n1 * p.n0 * p.k * p.count1 * p.count0;
  if (p.step < 0) {
    if (!timing_only_) add_products(costs_, sums, a, b, p);
    spend(Spent::compute, multiply_cycles(costs_, p, single, true, true));
    me.readings = {MultiplyRead{static_cast<const char*>(a), p.a_elements * i64{sizeof(T)}, me.clock},
                   MultiplyRead{static_cast<const char*>(b), p.b_elements * i64{sizeof(T)}, me.clock}};
    return;
  }
  if (p.step >= port_mesh_cols) violation("shares for step " + std::to_string(p.step));
  in_turn();
  me.came += 1;
  me.came_at = me.clock;
  me.product = &p;
  me.a = a, me.b = b;
  wake_mates();
  block("for the operands of its row and column", both_came);
  const Cpe &left = at(me.row, p.step), &right = at(p.step, me.col);
  check_operands(me, left, right);
  if (!timing_only_) add_products(costs_, sums, left.a, right.b, p);
  const auto arrives = [&](const Cpe& from) { return from.came_at + (&from == &me ? 0 : costs_.message_latency); };
  const double start = std::max({me.came_at, arrives(left), arrives(right)});
  spend(Spent::message, start - me.clock);
  // All run at the pace of those that load, widen and send.
  const bool diagonal_left = left.row == p.step, diagonal_right = right.col == p.step;
  const double own = multiply_cycles(costs_, p, single, me.col == p.step, me.row == p.step);
  const double pace = std::max({own, multiply_cycles(costs_, p, single, true, diagonal_left),
                                multiply_cycles(costs_, p, single, diagonal_right, true)});
  spend(Spent::compute, pace);
  me.finished = me.came;
  me.finished_at = me.clock;
  wake_mates();
  if (me.col != p.step && me.row != p.step) return;
  block("for its row or column to take what it shares", taken);
  double latest = me.clock;
  const double slack = costs_.send_depth + costs_.receive_depth;  // messages that the FIFOs hold at the end
  for (int i = 0; i < port_mesh_cols; ++i) {
    if (me.col == p.step) latest = std::max(latest, at(me.row, i).finished_at - slack);
    if (me.row == p.step) latest = std::max(latest, at(i, me.col).finished_at - slack);
  }
  spend(Spent::message, latest - me.clock);
}

template void Machine::multiply(float*, const void*, const void*, const port_product&);
template void Machine::multiply(double*, const void*, const void*, const port_product&);

}  // namespace cortado::sunway::sim
