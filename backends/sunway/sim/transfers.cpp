#include <algorithm>
#include <cstring>

#include "backends/sunway/sim/counted.h"
#include "backends/sunway/sim/machine.h"
#include "core/machine/estimate.h"

// Transfers between memory and scratchpads and between scratchpads, and what they must not do.
namespace cortado::sunway::sim {
namespace {

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

void Machine::note_flights() {
  in_flight_low = in_flight_high = nullptr;
  if (timing_only_) return;
  for (const Flight& flight : current_->flights) {
    if (in_flight_low == nullptr || flight.ldm < in_flight_low) in_flight_low = flight.ldm;
    if (in_flight_high == nullptr || flight.ldm + flight.bytes > in_flight_high)
      in_flight_high = flight.ldm + flight.bytes;
  }
}

void Machine::check_on_cpe(const char* ldm, i64 bytes) const {
  const Cpe& me = *current_;
  const bool in_scratch = ldm >= me.ldm && ldm + bytes <= me.ldm + costs_.scratch_bytes;
  const bool in_bounce = ldm >= me.bounce && ldm + bytes <= me.bounce + port_bounce_bytes;
  if (in_scratch || in_bounce) return;
  if (ldm >= me.ldm && ldm < me.ldm + costs_.scratch_bytes)
    violation("a transfer overflows the scratchpad by " + std::to_string(ldm + bytes - me.ldm - costs_.scratch_bytes) +
              " bytes");
  violation("a transfer outside of the CPE's scratchpad");
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
  // The stack lies in the LDM too: launches bring their arguments there.
  const char stack = 0;
  const auto off = flight.ldm - &stack;
  const bool on_stack = off > -static_cast<i64>(stack_bytes) && off < static_cast<i64>(stack_bytes);
  if (!on_stack) check_on_cpe(flight.ldm, flight.bytes);
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
  const double blocks = static_cast<double>(bytes / block);
  const double service = put ? put_seconds(transfer_spec_, blocks, static_cast<double>(block))
                             : transfer_seconds(transfer_spec_, blocks, static_cast<double>(block));
  controller_free_ = std::max(controller_free_, me.clock) + service * costs_.hz;
  flight.arrives = controller_free_ + costs_.transfer_latency;
  profile_.bytes += me.weight * static_cast<double>(bytes);
  profile_.transfers += me.weight;
  me.flights.push_back(flight);
  // Programs get their arguments, on the stack, in either mode.
  if (timing_only_ && ldm >= me.ldm && ldm < me.ldm + cpe_bytes()) return;
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

void Machine::wait(port_reply* reply, int count, Spent kind) {
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
  spend(kind, arrived - me.clock);
  note_flights();
}

// ---- RMA. A transfer leaves when the sender's way out and all receivers' ways in are free, and occupies them.

void Machine::check_receiver(const Cpe& receiver, const Flight& flight) const {
  const std::string name = "CPE (" + std::to_string(receiver.row) + ", " + std::to_string(receiver.col) + ")";
  for (const Flight& other : receiver.flights)
    if (meet_in_ldm(flight, other)) violation("sends to where " + name + " has not waited for another transfer");
  for (const MultiplyRead& reading : receiver.readings)
    if (reading.until > flight.arrives && flight.ldm < reading.p + reading.bytes &&
        reading.p < flight.ldm + flight.bytes)
      violation("sends to where " + name + " still multiplies");
}

void Machine::rma(char* destination, const char* source, i64 bytes, const std::vector<Cpe*>& receivers,
                  const port_reply* sent, port_reply* came) {
  if (!costs_.has_rma) violation("sends by RMA: " + costs_.title + " has register communication instead");
  spend(Spent::message, costs_.rma_issue);
  in_turn();
  Cpe& me = *current_;
  if (bytes <= 0 || bytes % 4 != 0 || reinterpret_cast<std::uintptr_t>(destination) % 4 != 0 ||
      reinterpret_cast<std::uintptr_t>(source) % 4 != 0)
    violation("misaligned RMA: addresses and sizes are multiples of 4 bytes");
  check_on_cpe(destination, bytes);
  check_on_cpe(source, bytes);
  const auto* const reply = reinterpret_cast<const char*>(came);
  if (reply < me.ldm || reply >= me.ldm + cpe_bytes()) violation("RMA whose reply is not in the scratchpad");
  double begin = std::max(me.clock, me.out_free);
  for (const Cpe* receiver : receivers) begin = std::max(begin, receiver->in_free);
  const double end = begin + static_cast<double>(bytes) / costs_.rma_bytes, arrives = end + costs_.rma_latency;
  const Flight leaving{sent, const_cast<char*>(source), nullptr, bytes, bytes, 0, true, end};
  for (const Flight& other : me.flights)
    if (!other.put && meet_in_ldm(leaving, other)) violation("sends what has not arrived yet");
  me.out_free = end;
  for (Cpe* receiver : receivers) {
    char* const there = receiver->ldm + (destination - me.ldm);
    const auto* const reply_there = reinterpret_cast<const port_reply*>(receiver->ldm + (reply - me.ldm));
    const Flight coming{reply_there, there, nullptr, bytes, bytes, 0, false, arrives};
    check_receiver(*receiver, coming);
    receiver->in_free = end;
    receiver->flights.push_back(coming);
    auto& received = receiver->received;
    received.erase(std::remove_if(received.begin(), received.end(), [&](const Received& r) { return r.p == there; }),
                   received.end());
    received.push_back({there, bytes});
    if (!timing_only_) std::memcpy(there, source, static_cast<std::size_t>(bytes));
    profile_.messages += me.weight;
    if (receiver != &me) wake(*receiver);
  }
  me.flights.push_back(leaving);
  note_flights();
}

void Machine::rma_put(char* destination, const char* source, i64 bytes, int cpe, const port_reply* sent,
                      port_reply* came) {
  if (cpe < 0 || cpe >= port_cpes) violation("sends to CPE " + std::to_string(cpe));
  rma(destination, source, bytes, {&cpes_[static_cast<std::size_t>(cpe)]}, sent, came);
}

void Machine::rma_broadcast(char* destination, const char* source, i64 bytes, bool along_row, const port_reply* sent,
                            port_reply* came) {
  std::vector<Cpe*> receivers;
  for (int i = 0; i < port_mesh_cols; ++i)
    receivers.push_back(along_row ? &at(current_->row, i) : &at(i, current_->col));
  rma(destination, source, bytes, receivers, sent, came);
}

void Machine::rma_wait(port_reply* reply, int count) {
  Cpe& me = *current_;
  in_turn();
  me.awaited = reply, me.awaited_count = count;
  block("for what others send by RMA", [](const Machine&, const Cpe& cpe) {
    const auto under_way = std::count_if(cpe.flights.begin(), cpe.flights.end(),
                                         [&](const Flight& flight) { return flight.reply == cpe.awaited; });
    return cpe.awaited->arrived + under_way >= cpe.awaited_count;
  });
  wait(reply, count, Spent::message);
}

void Machine::check_received(const void* p, i64 bytes) const {
  for (const Received& received : current_->received)
    if (received.p == p && received.bytes != bytes)
      violation("multiplies " + std::to_string(bytes) + " bytes of an operand of which " +
                std::to_string(received.bytes) + " were shared");
}

void Machine::check_arrived(const void* p, bool write) {
  const char* const at = static_cast<const char*>(p);
  for (const Flight& flight : current_->flights) {
    if (at < flight.ldm || at >= flight.ldm + flight.bytes) continue;
    if (!flight.put) violation(std::string(write ? "writes" : "reads") + " where a transfer has not arrived yet");
    if (write) violation("writes what a transfer to memory still reads");
  }
}

}  // namespace cortado::sunway::sim
