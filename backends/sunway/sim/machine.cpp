#include "backends/sunway/sim/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
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

constexpr std::size_t alignment = 128, stack_bytes = 256 * 1024;
thread_local Machine* machine_here = nullptr;

/// A heap's comparison: the CPE with the earliest clock on top, the lowest number among equals.
bool later(const Cpe* a, const Cpe* b) { return a->clock > b->clock || (a->clock == b->clock && a->id > b->id); }

char* aligned(char* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  return p + (alignment - at % alignment) % alignment;
}

/// True if a flight's blocks in memory meet those of another.
bool meet_in_memory(const Flight& a, const Flight& b) {
  const auto extent = [](const Flight& f) { return f.bytes + (f.bytes / f.block - 1) * f.gap; };
  if (a.memory + extent(a) <= b.memory || b.memory + extent(b) <= a.memory) return false;
  for (i64 at = 0, i = 0; at < a.bytes; at += a.block, ++i) {
    const char* const first = a.memory + i * (a.block + a.gap);
    // The first block of b that ends behind `first`.
    const i64 pitch = b.block + b.gap, before = first - b.memory - b.block;
    const i64 j = before < 0 ? 0 : before / pitch + 1;
    if (j * b.block < b.bytes && b.memory + j * pitch < first + std::min(a.block, a.bytes - at)) return true;
  }
  return false;
}

bool meet_in_ldm(const Flight& a, const Flight& b) { return a.ldm < b.ldm + b.bytes && b.ldm < a.ldm + a.bytes; }

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
  for (int id = 0; id < port_cpes; ++id) {
    Cpe& cpe = cpes_[static_cast<std::size_t>(id)];
    cpe.id = id, cpe.row = id / port_mesh_cols, cpe.col = id % port_mesh_cols;
    cpe.memory = std::make_unique<char[]>(port_scratch_bytes + port_bounce_bytes + alignment);
    cpe.ldm = aligned(cpe.memory.get());
    cpe.bounce = cpe.ldm + port_scratch_bytes;
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

// ---- transfers

void Machine::note_flights() {
  in_flight_low = in_flight_high = nullptr;
  if (timing_only_) return;
  for (const Flight& flight : current_->flights) {
    if (in_flight_low == nullptr || flight.ldm < in_flight_low) in_flight_low = flight.ldm;
    if (in_flight_high == nullptr || flight.ldm + flight.bytes > in_flight_high)
      in_flight_high = flight.ldm + flight.bytes;
  }
}

void Machine::check_transfer(const Flight& flight) const {
  const Cpe& me = *current_;
  const auto text = [](i64 n) { return std::to_string(n); };
  if (flight.bytes <= 0 || flight.block <= 0 || flight.bytes % flight.block != 0 || flight.gap < 0)
    violation("a transfer of " + text(flight.bytes) + " bytes in blocks of " + text(flight.block) + ", " +
              text(flight.gap) + " apart");
  if (reinterpret_cast<std::uintptr_t>(flight.ldm) % 4 != 0 ||
      reinterpret_cast<std::uintptr_t>(flight.memory) % 4 != 0 || flight.block % 4 != 0 || flight.gap % 4 != 0)
    violation("a misaligned transfer: addresses and sizes are multiples of 4 bytes");
  const bool in_scratch = flight.ldm >= me.ldm && flight.ldm + flight.bytes <= me.ldm + port_scratch_bytes;
  const bool in_bounce = flight.ldm >= me.bounce && flight.ldm + flight.bytes <= me.bounce + port_bounce_bytes;
  // The stack lies in the LDM too: launches bring their arguments there.
  const char stack = 0;
  const auto off = flight.ldm - &stack;
  const bool on_stack = off > -static_cast<i64>(stack_bytes) && off < static_cast<i64>(stack_bytes);
  if (!in_scratch && !in_bounce && !on_stack) {
    if (flight.ldm >= me.ldm && flight.ldm < me.ldm + port_scratch_bytes)
      violation("a transfer overflows the scratchpad by " +
                text(flight.ldm + flight.bytes - me.ldm - port_scratch_bytes) + " bytes");
    violation("a transfer outside of the CPE's scratchpad");
  }
  const i64 blocks = flight.bytes / flight.block;
  if (!memory_.holds(flight.memory, static_cast<std::size_t>(flight.bytes + (blocks - 1) * flight.gap)))
    violation("a transfer of " + text(flight.bytes) + " bytes outside of the core group's memory");
  for (const Flight& other : me.flights)
    if (meet_in_ldm(flight, other) && !(flight.put && other.put))
      violation("a transfer overlaps one in the scratchpad that was not waited for");
  if (timing_only_) return;
  for (const auto& [cpe, other] : on_the_way_)
    if ((flight.put || other.put) && other.arrives > me.clock && meet_in_memory(flight, other))
      violation("a transfer overlaps one of CPE (" + text(cpe->row) + ", " + text(cpe->col) +
                ") in memory that is on its way");
}

void Machine::transfer(char* ldm, const char* memory, i64 bytes, i64 block, i64 gap, bool put,
                       const port_reply* reply) {
  spend(Spent::compute, costs_.transfer_issue);
  in_turn();
  Cpe& me = *current_;
  Flight flight{reply, ldm, memory, bytes, block, gap, put, 0};
  check_transfer(flight);
  const double service =
      transfer_seconds(transfer_spec_, static_cast<double>(bytes / block), static_cast<double>(block));
  controller_free_ = std::max(controller_free_, me.clock) + service * costs_.hz;
  flight.arrives = controller_free_ + costs_.transfer_latency;
  profile_.bytes += me.weight * static_cast<double>(bytes);
  profile_.transfers += me.weight;
  me.flights.push_back(flight);
  // Programs get their arguments, on the stack, in either mode.
  if (timing_only_ && ldm >= me.ldm && ldm < me.bounce + port_bounce_bytes) return;
  // CPEs act in the order of their clocks: what has arrived by now meets nothing that is still to come.
  on_the_way_.erase(std::remove_if(on_the_way_.begin(), on_the_way_.end(),
                                   [&](const auto& entry) { return entry.second.arrives <= me.clock; }),
                    on_the_way_.end());
  if (!timing_only_) on_the_way_.emplace_back(&me, flight);
  for (i64 at = 0; at < bytes; at += block) {
    char* const in_memory = const_cast<char*>(memory) + at / block * (block + gap);
    if (put)
      std::memcpy(in_memory, ldm + at, static_cast<std::size_t>(block));
    else
      std::memcpy(ldm + at, in_memory, static_cast<std::size_t>(block));
  }
  note_flights();
}

void Machine::wait(port_reply* reply, int count) {
  Cpe& me = *current_;
  double arrived = me.clock;
  auto flight = me.flights.begin();
  while (reply->arrived < count) {
    flight = std::find_if(flight, me.flights.end(), [&](const Flight& f) { return f.reply == reply; });
    if (flight == me.flights.end())
      violation("waits for " + std::to_string(count) + " transfers, of which " + std::to_string(reply->arrived) +
                " were started");
    arrived = std::max(arrived, flight->arrives);
    reply->arrived = reply->arrived + 1;
    flight = me.flights.erase(flight);
  }
  spend(Spent::transfer, arrived - me.clock);
  note_flights();
}

void Machine::check_arrived(const void* p, bool write) {
  const char* const at = static_cast<const char*>(p);
  for (const Flight& flight : current_->flights) {
    if (at < flight.ldm || at >= flight.ldm + flight.bytes) continue;
    if (!flight.put) violation(std::string(write ? "writes" : "reads") + " where a transfer has not arrived yet");
    if (write) violation("writes what a transfer to memory still reads");
  }
}

// ---- messages

void Machine::send(const port_vector& v, int to, bool along_row) {
  Cpe& me = *current_;
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
