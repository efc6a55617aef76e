#include "backends/sunway/sim/machine.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "backends/sunway/sim/counted.h"
#include "core/base/error.h"
#include "core/machine/estimate.h"

namespace cortado::sunway {

thread_local port_operations tally = {0, 0, 0, 0};
thread_local const char* in_flight_low = nullptr;
thread_local const char* in_flight_high = nullptr;

void check_arrived(const void* p, bool write) { sim::Machine::here().check_arrived(p, write); }

namespace sim {
namespace {

constexpr std::size_t alignment = 128;
thread_local Machine* machine_here = nullptr;

/// A heap's comparison: the CPE with the earliest clock on top, the lowest number among equals.
bool later(const Cpe* a, const Cpe* b) { return a->clock > b->clock || (a->clock == b->clock && a->id > b->id); }

char* aligned(char* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  return p + (alignment - at % alignment) % alignment;
}

}  // namespace

void* Memory::allocate(std::size_t bytes) {
  // Zeros, so that a run that only keeps time finds no garbage where it looks at results.
  char* const raw = static_cast<char*>(std::calloc(bytes + alignment, 1));
  if (raw == nullptr)
    throw Error("sunway-sim", "no memory for " + std::to_string(bytes) + " bytes", "use a smaller batch");
  char* const p = aligned(raw);
  const std::unique_lock lock(mutex_);
  areas_[p] = {raw, bytes};
  return p;
}

void Memory::release(void* memory) noexcept {
  const std::unique_lock lock(mutex_);
  const auto found = areas_.find(static_cast<const char*>(memory));
  if (found == areas_.end()) return;
  std::free(found->second.raw);
  areas_.erase(found);
}

bool Memory::holds(const void* p, std::size_t bytes) const {
  const char* const first = static_cast<const char*>(p);
  const std::shared_lock lock(mutex_);
  auto area = areas_.upper_bound(first);
  if (area == areas_.begin()) return false;
  --area;
  return first + bytes <= area->first + area->second.bytes;
}

Machine::Machine(const Costs& costs, Memory& memory, int core_group, bool timing_only)
    : costs_(costs),
      memory_(memory),
      core_group_(core_group),
      timing_only_(timing_only),
      cpes_(port_cpes),
      stacks_(stack_bytes) {
  transfer_spec_.transfers = costs.transfers;
  transfer_spec_.bandwidth = costs.bandwidth;
  transfer_spec_.request_bytes = costs.request_bytes;
  transfer_spec_.partial_put_seconds = costs.partial_put / costs.hz;
  for (int id = 0; id < port_cpes; ++id) {
    Cpe& cpe = cpes_[static_cast<std::size_t>(id)];
    cpe.id = id, cpe.row = id / port_mesh_cols, cpe.col = id % port_mesh_cols;
    cpe.memory = std::make_unique<char[]>(static_cast<std::size_t>(cpe_bytes()) + alignment);
    cpe.ldm = aligned(cpe.memory.get());
    cpe.bounce = cpe.ldm + costs_.scratch_bytes;
  }
}

Machine& Machine::here() { return *machine_here; }

double Machine::run(const char* label, port_entry entry, void* argument, double start) {
  label_ = label;
  Machine* const outer = std::exchange(machine_here, this);
  begin(entry, argument, start);
  schedule();
  machine_here = outer;
  in_flight_low = in_flight_high = nullptr;
  const bool stuck = !failure_ && std::any_of(cpes_.begin(), cpes_.end(), [](const Cpe& c) { return !c.done; });
  if (stuck) {
    try {
      deadlock();
    } catch (...) { failure_ = std::current_exception(); }
  }
  end();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return profile_.end;
}

void Machine::begin(port_entry entry, void* argument, double start) {
  profile_ = LaunchProfile();
  profile_.label = label_;
  profile_.start = start;
  controller_free_ = start;
  at_barrier_ = 0;
  barriers_ = 0;
  queue_.clear();
  on_the_way_.clear();
  for (Cpe& cpe : cpes_) {
    cpe.clock = start;
    cpe.done = false;
    cpe.ready = nullptr;
    cpe.flights.clear();
    cpe.along_row.clear();
    cpe.along_col.clear();
    cpe.came = cpe.finished = 0;
    cpe.operation = "";
    cpe.buffer = -1;
    cpe.cycles = {};
    cpe.samples.clear();
    cpe.weight = 1;
    cpe.out_free = cpe.in_free = start;
    cpe.readings = {};
    cpe.received.clear();
    std::fill_n(cpe.bounce + port_bounce_bytes, sharing_bytes, '\0');
    cpe.fiber = boost::context::fiber(
        std::allocator_arg, stacks_, [this, &cpe, entry, argument](boost::context::fiber&& scheduler) {
          scheduler_ = std::move(scheduler);
          try {
            entry(argument);
            if (!cpe.flights.empty())
              violation("ends before " + std::to_string(cpe.flights.size()) + " transfers were waited for");
            cpe.done = true;
          } catch (const boost::context::detail::forced_unwind&) { throw; } catch (...) {
            failure_ = std::current_exception();
          }
          return std::move(scheduler_);
        });
    queue_.push_back(&cpe);
  }
  std::make_heap(queue_.begin(), queue_.end(), later);
}

void Machine::schedule() {
  while (!queue_.empty() && !failure_) {
    std::pop_heap(queue_.begin(), queue_.end(), later);
    current_ = queue_.back();
    queue_.pop_back();
    note_flights();
    current_->fiber = std::move(current_->fiber).resume();
  }
}

void Machine::end() {
  double latest = profile_.start;
  for (Cpe& cpe : cpes_) {
    cpe.fiber = boost::context::fiber();  // unwinds one that a failure left behind
    latest = std::max(latest, cpe.clock);
  }
  for (const Cpe& cpe : cpes_) {
    if (!failure_ && cpe.along_row.size() + cpe.along_col.size() > 0)
      failure_ = std::make_exception_ptr(ClusterError(
          name(cpe), std::to_string(cpe.along_row.size() + cpe.along_col.size()) + " messages were never received"));
    for (std::size_t kind = 0; kind < spent_kinds; ++kind) profile_.cycles[kind] += cpe.cycles[kind];
    profile_.cycles[static_cast<std::size_t>(Spent::idle)] += latest - cpe.clock;
  }
  profile_.end = latest;
}

void Machine::deadlock() const {
  std::string text = "deadlock:";
  int told = 0;
  for (const Cpe& cpe : cpes_) {
    if (cpe.done || told++ >= 4) continue;
    text += " CPE (" + std::to_string(cpe.row) + ", " + std::to_string(cpe.col) + ") waits " +
            (cpe.waits_for != nullptr ? cpe.waits_for : "for nothing") + ";";
  }
  if (told > 4) text += " and " + std::to_string(told - 4) + " more";
  throw ClusterError(std::string("program ") + label_, text);
}

std::string Machine::name(const Cpe& cpe) const {
  std::string text = std::string("program ") + label_ + ", core group " + std::to_string(core_group_) + ", CPE (" +
                     std::to_string(cpe.row) + ", " + std::to_string(cpe.col) + ")";
  if (*cpe.operation != '\0') text += std::string(", ") + cpe.operation;
  if (cpe.buffer >= 0) text += " of buffer " + std::to_string(cpe.buffer);
  return text;
}

void Machine::violation(const std::string& what) const { throw ClusterError(name(*current_), what); }

// ---- order

void Machine::switch_out() { scheduler_ = std::move(scheduler_).resume(); }

void Machine::in_turn() {
  if (queue_.empty() || !later(current_, queue_.front())) return;
  queue_.push_back(current_);
  std::push_heap(queue_.begin(), queue_.end(), later);
  switch_out();
}

void Machine::block(const char* waits_for, bool (*ready)(const Machine&, const Cpe&)) {
  Cpe& me = *current_;
  while (!ready(*this, me)) {
    me.waits_for = waits_for;
    me.ready = ready;
    switch_out();
  }
}

void Machine::wake(Cpe& cpe) {
  if (cpe.ready == nullptr || !cpe.ready(*this, cpe)) return;
  cpe.ready = nullptr;
  queue_.push_back(&cpe);
  std::push_heap(queue_.begin(), queue_.end(), later);
}

void Machine::wake_mates() {
  for (int i = 0; i < port_mesh_cols; ++i)
    if (i != current_->col) wake(at(current_->row, i));
  for (int i = 0; i < port_mesh_rows; ++i)
    if (i != current_->row) wake(at(i, current_->col));
}

void Machine::spend(Spent kind, double cycles) {
  current_->clock += cycles;
  current_->cycles[static_cast<std::size_t>(kind)] += cycles * current_->weight;
}

void Machine::begin_sample(double times) {
  current_->samples.emplace_back(times, current_->clock);
  current_->weight *= times;
}

void Machine::end_sample() {
  const auto [times, began] = current_->samples.back();
  current_->samples.pop_back();
  current_->weight /= times;
  current_->clock += (current_->clock - began) * (times - 1);
}

void Machine::count(i64 elements, const port_operations& each) {
  if (elements <= 0) return;
  const double vectors = static_cast<double>((elements + costs_.vector_lanes - 1) / costs_.vector_lanes);
  const double arithmetic = each.arithmetic + each.divisions * costs_.division, memory = each.loads + each.stores;
  spend(Spent::compute, costs_.loop_start + vectors * std::max({arithmetic, memory, 1.0}));
  profile_.flops += current_->weight * static_cast<double>(elements) * (each.arithmetic + each.divisions);
}

// ---- messages

void Machine::send(const port_vector& v, int to, bool along_row) {
  Cpe& me = *current_;
  if (costs_.has_rma) violation("sends a message: " + costs_.title + " has RMA instead");
  const int own = along_row ? me.col : me.row;
  if (to == own || to < -1 || to >= port_mesh_cols)
    violation(std::string("sends along its ") + (along_row ? "row to column " : "column to row ") + std::to_string(to));
  spend(Spent::message, 1);
  in_turn();
  for (int i = 0; i < port_mesh_cols; ++i) {
    if (i == own || (to >= 0 && i != to)) continue;
    Cpe& receiver = along_row ? at(me.row, i) : at(i, me.col);
    auto& fifo = along_row ? receiver.along_row : receiver.along_col;
    const auto room = static_cast<std::size_t>(costs_.send_depth + costs_.receive_depth);
    while (fifo.size() >= room) {
      me.product = nullptr;
      me.a = &fifo;  // what the room is waited for in
      block("for room in the FIFO of a receiver", [](const Machine& machine, const Cpe& cpe) {
        const auto& full = *static_cast<const std::deque<Message>*>(cpe.a);
        return full.size() < static_cast<std::size_t>(machine.costs_.send_depth + machine.costs_.receive_depth);
      });
    }
    fifo.push_back({v, me.clock + costs_.message_latency});
    profile_.messages += me.weight;
    wake(receiver);
  }
}

port_vector Machine::receive(bool along_row) {
  Cpe& me = *current_;
  if (costs_.has_rma) violation("waits for a message: " + costs_.title + " has RMA instead");
  in_turn();
  if (along_row)
    block("for a message along its row", [](const Machine&, const Cpe& cpe) { return !cpe.along_row.empty(); });
  else
    block("for a message along its column", [](const Machine&, const Cpe& cpe) { return !cpe.along_col.empty(); });
  auto& fifo = along_row ? me.along_row : me.along_col;
  const Message message = fifo.front();
  fifo.pop_front();
  const double until = std::max(me.clock + 1, message.arrives);
  spend(Spent::message, until - me.clock);
  // A sender that waited for this room goes on from here.
  for (int i = 0; i < port_mesh_cols; ++i) {
    Cpe& sender = along_row ? at(me.row, i) : at(i, me.col);
    if (sender.ready == nullptr || sender.a != &fifo) continue;
    sender.cycles[static_cast<std::size_t>(Spent::message)] += std::max(0.0, me.clock - sender.clock);
    sender.clock = std::max(sender.clock, me.clock);
    wake(sender);
  }
  return message.value;
}

void Machine::barrier() {
  Cpe& me = *current_;
  in_turn();
  me.came_at = static_cast<double>(barriers_);
  if (++at_barrier_ < port_cpes) {
    block("at the barrier",
          [](const Machine& machine, const Cpe& cpe) { return static_cast<double>(machine.barriers_) > cpe.came_at; });
    return;
  }
  at_barrier_ = 0;
  ++barriers_;
  // CPEs act in the order of their clocks, so the last to come is the latest.
  const double until = me.clock + costs_.barrier;
  for (Cpe& cpe : cpes_) {
    cpe.cycles[static_cast<std::size_t>(Spent::message)] += until - cpe.clock;
    cpe.clock = until;
    if (&cpe != &me) wake(cpe);
  }
}

}  // namespace sim
}  // namespace cortado::sunway
