#pragma once
#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "backends/sunway/costs.h"
#include "backends/sunway/port.h"
#include "core/base/types.h"

namespace cortado::sunway::sim {

constexpr std::size_t stack_bytes = 256 * 1024;  ///< of a CPE; the stack lies in its LDM
constexpr i64 sharing_bytes = 128;               ///< of a CPE's LDM, for port_sharing

/// Allocations that the clusters of a processor reach; transfers outside of them are errors. Core groups share it, each
/// on a thread of its own.
class Memory {
 public:
  void* allocate(std::size_t bytes);
  void release(void* memory) noexcept;
  /// True if one allocation holds [p, p + bytes).
  bool holds(const void* p, std::size_t bytes) const;

 private:
  struct Area {
    char* raw;
    std::size_t bytes;
  };
  mutable std::shared_mutex mutex_;
  std::map<const char*, Area> areas_;  // by first byte
};

/// The kinds of a CPE's cycles, which add up to the launch's time.
enum class Spent { compute, transfer, message, idle };
constexpr int spent_kinds = 4;

/// One launch of a program: what happened, for profiles.
struct LaunchProfile {
  std::string label;
  double start = 0, end = 0;                    ///< cycles of the core group's clock
  std::array<double, spent_kinds> cycles = {};  ///< sums over the CPEs
  double bytes = 0, flops = 0;
  double transfers = 0, messages = 0;
};

/// A transfer that was not waited for yet.
struct Flight {
  const port_reply* reply;
  char* ldm;
  const char* memory;  ///< or nullptr: RMA, which `ldm` is the end of in this CPE
  i64 bytes, block, gap;
  bool put;
  double arrives;
};

/// A part of a scratchpad that a multiply reads up to a cycle.
struct MultiplyRead {
  const char* p = nullptr;
  i64 bytes = 0;
  double until = 0;
};

/// An operand that came by RMA last into this place.
struct Received {
  const char* p;
  i64 bytes;
};

struct Message {
  port_vector value;
  double arrives;
};

/// One compute element: its fiber, its scratchpad, its clock.
struct Cpe {
  int id = 0, row = 0, col = 0;
  double clock = 0;
  std::unique_ptr<char[]> memory;
  char* ldm = nullptr;     ///< Costs::scratch_bytes, aligned
  char* bounce = nullptr;  ///< port_bounce_bytes; what sharing by RMA keeps follows
  boost::context::fiber fiber;
  bool done = false;
  /// Null: runnable. Else what it waits for, in words; `ready` then says whether that has come.
  const char* waits_for = nullptr;
  bool (*ready)(const class Machine&, const Cpe&) = nullptr;
  std::vector<Flight> flights;
  std::deque<Message> along_row, along_col;  // FIFOs of what came

  // RMA: when this CPE's way out and its way in are free, and what it waits for.
  double out_free = 0, in_free = 0;
  const port_reply* awaited = nullptr;
  int awaited_count = 0;
  std::array<MultiplyRead, 2> readings;  ///< of its last multiply
  std::vector<Received> received;

  // A shared multiply: how many this CPE came to, and finished; what it brings.
  i64 came = 0, finished = 0;
  double came_at = 0, finished_at = 0;
  const port_product* product = nullptr;
  const void *a = nullptr, *b = nullptr;

  /// Samples that are under way: what their steps stand for, and when they began; `weight` is the product of all.
  std::vector<std::pair<double, double>> samples;
  double weight = 1;

  const char* operation = "";
  int buffer = -1;
  std::array<double, spent_kinds> cycles = {};
};

/// One core group's cluster: 64 CPEs as fibers of one host thread. What they share is used in the order of their
/// clocks, so that results and times are the same in every run. Violations end the launch with a ClusterError that
/// names program, CPE and operation. The machine is the one that its costs describe.
class Machine {
 public:
  Machine(const Costs& costs, Memory& memory, int core_group, bool timing_only);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Runs entry(argument) on all CPEs, from `start` cycles on; returns the cycle at which all are done. Throws
  /// ClusterError for violations, and what the program threw.
  double run(const char* label, port_entry entry, void* argument, double start);

  const Costs& costs() const { return costs_; }
  int core_group() const { return core_group_; }
  bool timing_only() const { return timing_only_; }
  /// The profile of the launch that ended last.
  const LaunchProfile& profile() const { return profile_; }

  // ---- what CPEs do; called on the fiber of `current()`

  static Machine& here();
  Cpe& current() { return *current_; }
  void transfer(char* ldm, const char* memory, i64 bytes, i64 block, i64 gap, bool put, const port_reply* reply);
  void wait(port_reply* reply, int count, Spent kind = Spent::transfer);
  void rma_put(char* destination, const char* source, i64 bytes, int cpe, const port_reply* sent, port_reply* came);
  void rma_broadcast(char* destination, const char* source, i64 bytes, bool along_row, const port_reply* sent,
                     port_reply* came);
  void rma_wait(port_reply* reply, int count);
  /// Ends the launch with an error unless what came last to this place is an operand of that size.
  void check_received(const void* p, i64 bytes) const;
  char* sharing() { return current_->bounce + port_bounce_bytes; }
  void send(const port_vector& v, int to, bool along_row);
  port_vector receive(bool along_row);
  void barrier();
  template <class T>
  void multiply(T* sums, const void* a, const void* b, const port_product& product);
  void count(i64 elements, const port_operations& each);
  void check_arrived(const void* p, bool write);
  /// In between, this CPE's time and counts stand for `times` as much.
  void begin_sample(double times);
  void end_sample();
  /// The overhead of one operation of a program: addresses, calls.
  void call() { spend(Spent::compute, costs_.line_start); }

  [[noreturn]] void violation(const std::string& what) const;

 private:
  Cpe& at(int row, int col) { return cpes_[static_cast<std::size_t>(row * port_mesh_cols + col)]; }
  const Cpe& at(int row, int col) const { return cpes_[static_cast<std::size_t>(row * port_mesh_cols + col)]; }
  void begin(port_entry entry, void* argument, double start);
  void schedule();
  Cpe* next();
  void end();
  [[noreturn]] void deadlock() const;
  std::string name(const Cpe& cpe) const;
  void switch_out();
  /// Returns when no other CPE that can run is earlier than this one.
  void in_turn();
  /// Returns when `ready`, which others' actions can make true.
  void block(const char* waits_for, bool (*ready)(const Machine&, const Cpe&));
  void wake_mates();
  void wake(Cpe& cpe);
  void spend(Spent kind, double cycles);
  void check_transfer(const Flight& flight) const;
  void check_on_cpe(const char* ldm, i64 bytes) const;
  void rma(char* destination, const char* source, i64 bytes, const std::vector<Cpe*>& receivers, const port_reply* sent,
           port_reply* came);
  void check_receiver(const Cpe& receiver, const Flight& flight) const;
  i64 cpe_bytes() const { return costs_.scratch_bytes + port_bounce_bytes + sharing_bytes; }
  void note_flights();
  static bool both_came(const Machine& machine, const Cpe& me);
  static bool taken(const Machine& machine, const Cpe& me);
  void check_operands(const Cpe& me, const Cpe& left, const Cpe& right) const;

  const Costs costs_;
  MachineSpec transfer_spec_;  // only the table, for transfer_seconds
  Memory& memory_;
  const int core_group_;
  const bool timing_only_;
  std::vector<Cpe> cpes_;
  boost::context::fiber scheduler_;
  boost::context::pooled_fixedsize_stack stacks_;
  Cpe* current_ = nullptr;
  std::vector<Cpe*> queue_;  // runnable, a heap by clock
  std::vector<std::pair<const Cpe*, Flight>> on_the_way_;
  const char* label_ = "";
  std::exception_ptr failure_;
  double controller_free_ = 0;
  int at_barrier_ = 0;
  i64 barriers_ = 0;
  LaunchProfile profile_;
};

/// Cycles of one CPE's part of a product, as one that loads and sends `a`, `b`, both or neither.
/// A CPE that owns an operand of single precision that is not widened yet converts what it sends.
double multiply_cycles(const Costs& costs, const port_product& p, bool single_precision, bool owns_a, bool owns_b);

}  // namespace cortado::sunway::sim
