#include "backends/reference/cpe.h"

#include <algorithm>

#include "core/base/error.h"

namespace cortado::reference {

bool Operation::same(const Operation& other) const {
  return std::strcmp(name, other.name) == 0 && a == other.a && b == other.b && p == other.p;
}

Cpe::Cpe(Launch& launch)
    : launch_(launch),
      lanes_(static_cast<std::size_t>(launch.lanes.count())),
      slots_(launch.plan.bookings.size()),
      turn_(launch.plan.bookings.size()) {
  for (std::size_t b = 0; b < slots_.size(); ++b) {
    const Plan::Booking& booking = launch.plan.bookings[b];
    for (int s = 0; s < booking.place.slots; ++s) {
      Slot slot;
      slot.cpe = this;
      slot.booking = &booking;
      slot.data = launch.scratch + booking.place.offset + i64{booking.place.bytes} * s;
      slots_[b].push_back(slot);
    }
  }
  for (Lane& lane : lanes_) lane.item = &items_[0];
  begin_item("CPE", launch.worker, -1);
}

// ---- lanes

void Cpe::agree(const Operation& operation) {
  if (me().loop.name != nullptr)
    violation(std::string(operation.name) + " inside " + me().loop.name + ": only plain work goes into a lane loop");
  if (lane() == 0) {
    expected_ = operation;
    return;
  }
  if (expected_.same(operation)) return;
  const auto text = [](const Operation& o) {
    return std::string(o.name) + "(" + std::to_string(o.a) + (o.b != 0 ? ", " + std::to_string(o.b) : "") + ")";
  };
  violation("lane " + std::to_string(lane()) + " is at " + text(operation) + " where lane 0 is at " + text(expected_) +
            (operation.p != expected_.p ? " with another address" : "") +
            ": control flow outside lane loops must be uniform");
}

void Cpe::meet(const Operation& operation) {
  agree(operation);
  launch_.lanes.turn();
}

void Cpe::enter(const Operation& operation, Loop::Sets sets) {
  agree(operation);
  me().loop.name = operation.name;
  me().loop.sets = sets;
}

void Cpe::leave() {
  me().loop = Loop{};
  launch_.lanes.turn();
  ++me().epoch;
}

char* Cpe::exchange(i64 n) {
  // Lane 0 comes first and makes room; the others are still to come when it does, so nobody holds the old place.
  if (lane() == 0) exchange_.assign(static_cast<std::size_t>(n) + 1, 0);
  return exchange_.data();
}

// ---- items

Item* Cpe::begin_item(const char* kind, i64 index, int parity) {
  Item& item = items_[parity + 1];
  item.number = launch_.first_item + static_cast<std::uint32_t>(launch_.items.size());
  item.reads.clear();
  item.writes.clear();
  launch_.items.push_back({kind, index});
  return &item;
}

void Cpe::end_item(const Item& item) {
  for (const auto& slots : slots_)
    for (const Slot& slot : slots)
      if (slot.output && slot.item == item.number)
        violation(slot, "an output of " + name_of(item.number) + " was never put");
}

void Cpe::end() {
  meet({"the end of the program"});
  if (lane() == 0) end_item(items_[0]);
}

std::string Cpe::name_of(std::uint32_t item) const { return launch_.items[item - launch_.first_item].text(); }

// ---- slots

Slot& Cpe::take(Buf buf, Use use, i64 bytes, const char* operation) {
  const auto& bookings = launch_.plan.bookings;
  const auto id = static_cast<std::size_t>(buf.id);
  if (buf.id < 0 || id >= bookings.size() || buf.offset != bookings[id].place.offset ||
      buf.bytes != bookings[id].place.bytes || buf.slots != bookings[id].place.slots)
    violation(std::string(operation) + " with a Buf that the launch's plan did not book");
  Slot& slot = slots_[id][static_cast<std::size_t>(turn_[id])];
  turn_[id] = (turn_[id] + 1) % buf.slots;
  if (slot.booking->use != use)
    violation(slot, std::string(operation) + " needs a booking for " + (use == Use::line ? "lines" : "tiles"));
  if (bytes > buf.bytes)
    violation(slot, std::string(operation) + " of " + std::to_string(bytes) + " bytes, booked are " +
                        std::to_string(buf.bytes));
  if (slot.output)
    violation(slot,
              std::string(operation) + " needs the slot of an output of " + name_of(slot.item) + " that was not put");
  if (slot.kept) violation(slot, std::string(operation) + " would overwrite what keep brought");
  ++slot.generation;
  slot.was_put = false;
  slot.item = item().number;
  slot.tracks.reset();
  slot.set.clear();
  return slot;
}

void Cpe::claim(Slot& slot, const void* p, i64 rows, i64 cols, i64 pitch, i64 element) {
  slot.region = Region{static_cast<const char*>(p), rows, cols * element, pitch * element};
  slot.count = rows * cols;
  slot.cols = cols;
  if (lanes() > 1) slot.tracks = std::make_shared<Tracks>(slot.count);
  if (slot.count == 0) return;
  const i64 last = slot.region.pitch * (rows - 1);
  check_inside(slot.region.first + std::min<i64>(0, last), slot.region.first + std::max<i64>(0, last) + cols * element,
               element, "the line", slot);
}

void Cpe::input(Slot& slot, const void* p, i64 rows, i64 cols, i64 pitch, i64 element) {
  claim(slot, p, rows, cols, pitch, element);
  const Region& region = slot.region;
  if (touch(region, false, slot))
    for (const Item::Use& other : item().writes) {
      if (!other.region.overlaps(region)) continue;
      if (!other.region.same(region) || (other.live() && other.slot->count != slot.count))
        violation(slot, "an input may lie on an output of the same line exactly or not at all");
      if (!other.live()) violation(slot, rereads);
      for (const char set : other.slot->set)
        if (set == 1) violation(slot, "an input is fetched from where an output has been set but not put");
      share_tracks(slot, *other.slot);
    }
  item().reads.push_back({region, &slot, slot.generation});
  for (i64 r = 0; r < rows && region.row_bytes > 0; ++r)
    std::memcpy(slot.data + r * region.row_bytes, at(region.first + r * region.pitch),
                static_cast<std::size_t>(region.row_bytes));
}

void Cpe::output(Slot& slot, void* p, i64 rows, i64 cols, i64 pitch, i64 element, bool update) {
  if (rows > 1 && std::abs(pitch) < cols) violation(slot, "rows of an output overlap");
  claim(slot, p, rows, cols, pitch, element);
  const Region& region = slot.region;
  if (touch(region, true, slot)) {
    for (const Item::Use& other : item().writes)
      if (other.live() && other.region.overlaps(region)) violation(slot, "overlaps an output that was not put yet");
    for (const Item::Use& other : item().reads) {
      if (!other.region.overlaps(region)) continue;
      if (!other.region.same(region) || (other.live() && other.slot->count != slot.count))
        violation(slot, "an output may lie on an input of the same line exactly or not at all");
      if (other.live()) share_tracks(slot, *other.slot);
    }
  }
  item().writes.push_back({region, &slot, slot.generation});
  slot.output = true;
  slot.set.assign(static_cast<std::size_t>(slot.count), update ? 2 : 0);  // 2: the old value
  for (i64 r = 0; update && r < rows && region.row_bytes > 0; ++r)
    std::memcpy(slot.data + r * region.row_bytes, at(region.first + r * region.pitch),
                static_cast<std::size_t>(region.row_bytes));
}

void Cpe::own(Slot& slot, i64 count, i64 element) {
  slot.count = count;
  if (lanes() > 1) slot.tracks = std::make_shared<Tracks>(count);
  slot.set.assign(static_cast<std::size_t>(count), 0);
  std::memset(slot.data, 0xFF, static_cast<std::size_t>(count * element));
}

void Cpe::share_tracks(Slot& slot, Slot& with) {
  if (!with.tracks) with.tracks = std::make_shared<Tracks>(with.count);
  slot.tracks = with.tracks;
  slot.tracks->aliased = true;
}

void Cpe::put(Slot& slot, std::uint32_t generation) {
  check_live(slot, generation);
  for (i64 i = 0; i < slot.count; ++i)
    if (slot.set[static_cast<std::size_t>(i)] == 0)
      violation(slot, "put, but element " + std::to_string(i) + " of " + std::to_string(slot.count) + " was never set");
  const Region& region = slot.region;
  for (i64 r = 0; r < region.rows && region.row_bytes > 0; ++r)
    std::memcpy(at(region.first + r * region.pitch), slot.data + r * region.row_bytes,
                static_cast<std::size_t>(region.row_bytes));
  slot.output = false;
  slot.was_put = true;
  ++slot.generation;
}

// ---- elements

void Cpe::read(Slot& slot, i64 element, bool output) {
  const auto at = static_cast<std::size_t>(element);
  if (output && slot.set[at] == 0) violation(slot, "reads element " + std::to_string(element) + ", which was not set");
  if (!slot.tracks) return;
  Tracks::Element& track = slot.tracks->elements[at];
  if (!output && track.set)
    violation(slot, "reads element " + std::to_string(element) +
                        " of an input after the output on the same memory has set it");
  const std::uint32_t epoch = me().epoch;
  if (track.written == epoch && track.writer != lane())
    violation(slot, "lane " + std::to_string(lane()) + " reads element " + std::to_string(element) + ", which lane " +
                        std::to_string(track.writer) + " sets, and no lane loop ends in between");
  track.reader = track.read == epoch && track.reader != lane() ? Tracks::many_readers : lane();
  track.read = epoch;
}

void Cpe::write(Slot& slot, i64 row, i64 col, bool block, i64 element) {
  check_sets(slot, row, col, block);
  const auto at = static_cast<std::size_t>(element);
  slot.set[at] = 1;
  if (!slot.tracks) return;
  Tracks::Element& track = slot.tracks->elements[at];
  const std::uint32_t epoch = me().epoch;
  // Two lanes cannot set one element: check_sets gives each its own.
  if (track.read == epoch && track.reader != lane())
    violation(slot, "lane " + std::to_string(lane()) + " sets element " + std::to_string(at) +
                        ", which another lane reads, and no lane loop ends in between");
  track.written = epoch;
  track.writer = lane();
  track.set = true;
}

void Cpe::check_sets(const Slot& slot, i64 row, i64 col, bool block) {
  const Loop& loop = me().loop;
  if (loop.name == nullptr) violation(slot, "set outside a lane loop");
  bool allowed = false;
  switch (loop.sets) {
    case Loop::Sets::nothing: violation(slot, std::string("set inside ") + loop.name);
    case Loop::Sets::element: allowed = col == loop.col; break;
    case Loop::Sets::cell: allowed = block && row == loop.row && col == loop.col; break;
    case Loop::Sets::anything: allowed = true; break;
  }
  if (allowed) return;
  const auto text = [](bool pair, i64 r, i64 c) {
    return pair ? "(" + std::to_string(r) + ", " + std::to_string(c) + ")" : std::to_string(c);
  };
  violation(slot, std::string(loop.name) + " at " + text(loop.sets == Loop::Sets::cell, loop.row, loop.col) +
                      " sets element " + text(block, row, col) + ": a lane may set its own element only");
}

// ---- errors

void Cpe::violation(const std::string& what) const {
  throw ClusterError(std::string("program ") + launch_.label + ", " + name_of(me().item->number), what);
}

void Cpe::violation(const Slot& slot, const std::string& what) const {
  violation("buffer '" + slot.booking->name + "': " + what);
}

void Cpe::out_of_range(const Slot& slot, i64 i, i64 n) const {
  violation(slot, "element " + std::to_string(i) + " is outside [0, " + std::to_string(n) + ")");
}

void Cpe::stale(const Slot& slot, std::uint32_t generation) const {
  if (slot.was_put && slot.generation == generation + 1) violation(slot, "used after put");
  violation(slot, "used after its slot was given to a later line; the booking has " +
                      std::to_string(slot.booking->place.slots) + " slots");
}

}  // namespace cortado::reference
