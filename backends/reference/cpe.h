#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/reference/lanes.h"
#include "backends/reference/memory.h"
#include "backends/reference/programs.h"
#include "backends/reference/touched.h"
#include "core/machine/plan.h"
#include "core/machine/program.h"

namespace cortado::reference {

class Cpe;

/// "line 3", "tile 0", "CPE 2"
struct ItemName {
  const char* kind;
  i64 index;
  std::string text() const { return std::string(kind) + " " + std::to_string(index); }
};

/// One launch in progress, on the CPE whose turn it is.
struct Launch {
  const char* label;
  const Plan& plan;
  Memory& memory;
  Lanes& lanes;
  char* scratch;                     ///< plan.scratch_bytes of the CPE
  int record;                        ///< core group, for its record of touched words
  i64 worker, workers;               ///< this CPE among those that run the launch
  std::uint32_t first_item;          ///< number of the launch's first item
  Touched* touched = nullptr;        ///< takes down which memory the launch reads and writes; null: nobody asks
  std::vector<ItemName> items = {};  ///< of item first_item + i

  bool failed = false;  ///< the first call of fail
  int code = 0;
  i64 index = 0;
};

/// Rows of bytes in memory, `pitch` bytes apart.
struct Region {
  const char* first = nullptr;
  i64 rows = 0, row_bytes = 0, pitch = 0;

  bool same(const Region& other) const;
  bool overlaps(const Region& other) const;
};

/// Which lane last touched an element of a line, and in which of the spans between the ends of lane loops. Lines that
/// share memory on backends that borrow it share one record.
struct Tracks {
  struct Element {
    std::uint32_t written = 0, read = 0;  ///< epochs, from 1
    int writer = -1, reader = -1;         ///< lanes; many_readers: several
    bool set = false;
  };
  static constexpr int many_readers = -2;
  explicit Tracks(i64 count) : elements(static_cast<std::size_t>(count)) {}
  std::vector<Element> elements;
  bool aliased = false;  ///< an input and an output lie on the same memory
};

/// One slot of a booking and what a get, out, stage or acc put there. Handles name a slot and the generation they were
/// made for, so every use of a stale handle is noticed.
struct Slot {
  Cpe* cpe = nullptr;
  const Plan::Booking* booking = nullptr;
  char* data = nullptr;  ///< in the CPE's scratchpad
  std::uint32_t generation = 0;
  std::uint32_t item = 0;  ///< whose line, tile or CPE it was made for
  i64 count = 0, cols = 0;
  Region region;
  bool kept = false;      ///< holds what `keep` brought
  bool output = false;    ///< an out or update that was not put yet
  bool was_put = false;   ///< the last generation ended by put
  std::vector<char> set;  ///< of an output: which elements have values
  std::shared_ptr<Tracks> tracks;
};

/// A line, a tile, or what a CPE does outside of both: what must not conflict with others of its kind in a launch.
struct Item {
  struct Use {
    Region region;
    Slot* slot;
    std::uint32_t generation;
    bool live() const { return slot->generation == generation; }
  };
  std::uint32_t number = 0;
  std::vector<Use> reads, writes;
};

/// An operation that all lanes must do together, and on which they must agree.
struct Operation {
  const char* name = "";
  i64 a = 0, b = 0;
  const void* p = nullptr;
  bool same(const Operation& other) const;
};

/// A lane loop, and the elements that an iteration of it may set.
struct Loop {
  enum class Sets { nothing, element, cell, anything };
  const char* name = nullptr;  ///< null outside lane loops
  Sets sets = Sets::nothing;
  i64 row = 0, col = 0;
};

/// The checks of one CPE: everything about a context that does not depend on types. Violations throw ClusterError,
/// which ends the launch and comes out of the wait.
class Cpe {
  static constexpr const char* rereads = "reads what the same line has put: a device may hold what was there before";

 public:
  explicit Cpe(Launch& launch);
  Cpe(const Cpe&) = delete;
  Cpe& operator=(const Cpe&) = delete;

  Launch& launch() { return launch_; }
  int lane() const { return launch_.lanes.current(); }
  int lanes() const { return launch_.lanes.count(); }

  // ---- lanes

  /// All lanes reach the operation, then lane 0 goes on first. A violation if they are not at the same one.
  void meet(const Operation& operation);
  /// A lane loop begins: the lane's iterations may set what `sets` says. Lanes need not have met.
  void enter(const Operation& operation, Loop::Sets sets);
  /// A lane loop ends: all lanes have done their iterations when this returns.
  void leave();
  Loop& loop() { return me().loop; }

  /// Hands what lane 0 made to the lanes that come after it, until the next operation.
  template <class R>
  void share(const R& result) {
    static_assert(std::is_trivially_copyable<R>::value, "lanes exchange plain data");
    shared_.resize(sizeof(R));
    std::memcpy(shared_.data(), &result, sizeof(R));
  }
  template <class R>
  R shared(R result = R()) const {
    std::memcpy(static_cast<void*>(&result), shared_.data(), sizeof(R));
    return result;
  }
  /// n bytes that all lanes see, for the terms of a fold.
  char* exchange(i64 n);

  // ---- items

  /// Lane 0 begins a line or tile. `parity` 0 or 1: two are alive when the next is fetched before the work on this one.
  Item* begin_item(const char* kind, i64 index, int parity);
  /// Lane 0 ends one: all its outputs must have been put.
  void end_item(const Item& item);
  /// Called by every lane when the program ends.
  void end();
  Item& item() { return *me().item; }
  /// The lane goes on with an item that has begun.
  void resume(Item* item) { me().item = item; }
  bool outside_items() { return me().item == &items_[0]; }

  // ---- slots; done by lane 0 for all

  /// The next slot of a booking, checked to be the plan's, large enough and free.
  Slot& take(Buf buf, Use use, i64 bytes, const char* operation);
  /// Brings rows x cols elements of `element` bytes in, checked against bounds and what other items write.
  void input(Slot& slot, const void* p, i64 rows, i64 cols, i64 pitch, i64 element);
  /// Makes the slot an output to there; with `update` its elements have values already.
  void output(Slot& slot, void* p, i64 rows, i64 cols, i64 pitch, i64 element, bool update);
  /// Makes the slot `count` elements that lanes set and nobody puts; until then they are no numbers.
  void own(Slot& slot, i64 count, i64 element);
  /// Writes an output to memory and ends its generation; all elements must be set.
  void put(Slot& slot, std::uint32_t generation);

  // ---- elements; by their number in the slot

  void check_live(const Slot& slot, std::uint32_t generation) const {
    if (slot.generation != generation) stale(slot, generation);
  }
  /// The running lane is about to read one; `output`: by at().
  void read(Slot& slot, i64 element, bool output);
  /// The running lane is about to set element (row, col) of a block (or `col` of a line), number `element` of the slot.
  void write(Slot& slot, i64 row, i64 col, bool block, i64 element);

  // ---- memory

  /// Throws unless one allocation holds [low, high).
  void check_inside(const char* low, const char* high, i64 element, const char* what, const Slot& slot);
  /// The current item reads or writes a run of memory for a tile, inside of what check_inside has seen.
  void touch_run(const char* first, i64 bytes, bool write, const Slot& slot);
  /// The place of that byte of memory, which check_inside must have seen.
  char* at(const void* p) {
    const auto* const byte = static_cast<const char*>(p);
    return area_of(byte).at(byte);
  }

  [[noreturn]] void violation(const std::string& what) const;
  [[noreturn]] void violation(const Slot& slot, const std::string& what) const;
  [[noreturn]] void out_of_range(const Slot& slot, i64 i, i64 n) const;

 private:
  struct Lane {
    Loop loop;
    std::uint32_t epoch = 1;
    Item* item = nullptr;
  };
  Lane& me() { return lanes_[static_cast<std::size_t>(lane())]; }
  const Lane& me() const { return lanes_[static_cast<std::size_t>(lane())]; }

  [[noreturn]] void stale(const Slot& slot, std::uint32_t generation) const;
  /// Checks that the lane is at the same operation as lane 0.
  void agree(const Operation& operation);
  void check_sets(const Slot& slot, i64 row, i64 col, bool block);
  /// The allocation around a byte that check_inside has found to be in one.
  Area& area_of(const char* p);
  /// Notes that the current item touches a region; true if it had touched some of it the other way. Throws for
  /// conflicts with other items.
  bool touch(const Region& region, bool write, const Slot& slot);
  /// Ties a slot to a region inside of one allocation.
  void claim(Slot& slot, const void* p, i64 rows, i64 cols, i64 pitch, i64 element);
  /// Two slots of the same memory get one record of who touches what.
  void share_tracks(Slot& slot, Slot& with);
  std::string name_of(std::uint32_t item) const;

  Launch& launch_;
  std::vector<Lane> lanes_;
  Item items_[3];                         // outside, and two lines
  std::vector<std::vector<Slot>> slots_;  // by booking
  std::vector<int> turn_;                 // by booking: the next slot
  Operation expected_;                    // what lane 0 does
  std::vector<char> shared_, exchange_;
  Area* area_ = nullptr;  // touched last; nothing is released during a launch of its own group
};

}  // namespace cortado::reference
