#pragma once
#include <string>
#include <vector>

#include "core/base/bf16.h"
#include "core/base/types.h"
#include "core/machine/machine_spec.h"

namespace cortado {

/// The number of slots through which a pipeline rotates: with `two`, fetch i+1 runs before work i (double buffering).
enum class Depth : int { one = 1, two = 2 };

/// A place in every CPE's scratchpad that a plan booked and the launch grants: `slots` consecutive areas of
/// `bytes` each, starting at `offset`. Plain data: programs carry it by value.
struct Buf {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  std::int32_t slots = 0;
  std::int32_t spare = 0;  ///< slots after those: a copy that is multiplied instead of what was staged, receive slots
  std::int32_t id = 0;     ///< position in the plan's list of bookings; names the buffer in errors
};

/// The purpose of a booking. Lines (`get`, `out`, `update`, `keep`) may borrow the memory itself and then cost nothing;
/// tiles (`stage`, `acc`) are always private.
enum class Use { line, tile };

/// A launch's scratchpad list. The same list sizes LDM, CUDA shared memory and OpenMP scratch.
struct Plan {
  struct Booking {
    std::string name;
    Use use;
    Buf place;
  };
  std::vector<Booking> bookings;
  i64 scratch_bytes = 0;  ///< what one CPE is granted
  i64 spilled_bytes = 0;  ///< of those, what lies in memory beside the scratchpad (PlanBuilder::spill)
  i64 work_items = 0;     ///< lines or tiles of the launch, 0: not known; a backend need not start more workers
  bool streams = false;   ///< caches need not keep what the program stores turned (MachineSpec::outgrows_cache)
};

/// Books scratchpad against a machine's budget. A plan that does not fit is not a plan: `reason` says why.
///
///   PlanBuilder book(group.spec());
///   program.in = book.line<float>("in", program.block, Depth::two);
///   if (!book.fits()) return refuse(book.reason());
///   group.launch(program, book.plan(lines));
class PlanBuilder {
 public:
  explicit PlanBuilder(const MachineSpec& spec) : spec_(spec) {}

  /// Books `slots` lines, or tiles, of `elements` values of T. A bf16 takes two bytes in a line; in a tile, where lanes
  /// see float, four.
  template <class T>
  Buf line(const char* name, i64 elements, int slots) {
    return book(name, Use::line, elements * i64{sizeof(T)}, slots);
  }
  template <class T>
  Buf line(const char* name, i64 elements, Depth depth) {
    return line<T>(name, elements, static_cast<int>(depth));
  }
  template <class T>
  Buf tile(const char* name, i64 elements, int slots) {
    return book(name, Use::tile, elements * i64{sizeof(Lane<T>)}, slots);
  }
  template <class T>
  Buf tile(const char* name, i64 elements, Depth depth) {
    return tile<T>(name, elements, static_cast<int>(depth));
  }

  /// Books a tile that may be larger than a scratchpad: cores that work from caches have it in memory, where it does
  /// not count. Elsewhere it is an operand like others.
  template <class T>
  Buf spill(const char* name, i64 elements) {
    return spilled(operand(name, elements, i64{sizeof(Lane<T>)}, Depth::one, false, false));
  }

  /// Books slots for an operand of a tile program, `elements` values of T, and room for the copy that the machine
  /// multiplies where it widens single precision (unless the plan would rather have that done anew in every multiply),
  /// or where it `turns` what lies in memory column by column. Machines that share operands by way of receive slots get
  /// room for those.
  template <class T>
  Buf operand(const char* name, i64 elements, Depth depth, bool turns = false, bool widens = true) {
    return operand(name, elements, i64{sizeof(T)}, depth, turns, widens);
  }

  const MachineSpec& spec() const { return spec_; }
  bool fits() const { return left() >= 0; }

  /// Scratchpad bytes still free, negative when the plan does not fit.
  i64 left() const { return spec_.scratch_bytes - (used_ - spilled_); }

  /// Empty when it fits; else every booking with its bytes, the sum and the budget.
  std::string reason() const;

  /// The plan. Throws PlanError with `reason()` when it does not fit.
  Plan plan(i64 work_items) const;

 private:
  /// `bytes` are rounded up to 128.
  Buf book(const char* name, Use use, i64 bytes, int slots, int spare = 0);
  Buf spilled(Buf place);
  Buf operand(const char* name, i64 elements, i64 element_bytes, Depth depth, bool turns, bool widens);

  const MachineSpec& spec_;
  i64 used_ = 0, spilled_ = 0;
  std::vector<Plan::Booking> bookings_;
};

/// The number of elements of `element_bytes` that a line of a streaming program should hold when it can hold
/// any: as long as `buffers` such lines fit a scratchpad, not longer than needed to keep `n` elements spread
/// over all CPEs, a multiple of the vector width, and at least 1.
i64 line_elements(const MachineSpec& spec, i64 n, int buffers, i64 element_bytes = 4);

}  // namespace cortado
