#include "backends/reference/cluster.h"

#include <algorithm>
#include <memory>

#include "core/base/error.h"

namespace cortado::reference {
namespace {
constexpr std::size_t alignment = 128;

/// Plans come from a PlanBuilder, but are plain data that anybody can make.
void check_plan(const Plan& plan, const char* label, const MachineSpec& spec) {
  const std::string where = std::string("program ") + label;
  const i64 needed = plan.scratch_bytes - plan.spilled_bytes;
  if (needed > spec.scratch_bytes)
    throw PlanError(where, "needs " + std::to_string(needed) + " bytes of scratchpad, a CPE has " +
                               std::to_string(spec.scratch_bytes));
  i64 used = 0;
  for (const auto& booking : plan.bookings) {
    if (booking.place.slots < 1) throw PlanError(where, "books no slot for '" + booking.name + "'");
    if (booking.place.offset % 8 != 0 || i64{booking.place.offset} < used)
      throw PlanError(where, "books '" + booking.name + "' over another buffer");
    used = booking.place.offset + i64{booking.place.bytes} * booking.place.slots;
  }
  if (used > plan.scratch_bytes) throw PlanError(where, "books more than the scratchpad it asks for");
}
}  // namespace

Entry Cluster::find(ProgramKey key, const char* label, const Plan& plan) const {
  const Entry entry = programs_.find(key);
  if (entry.run == nullptr)
    throw BugError(std::string("program ") + label, "is not built for this backend",
                   "list it with cortado_programs in its folder's CMakeLists.txt");
  check_plan(plan, label, spec_);
  return entry;
}

void Cluster::run(const Entry& entry, const char* label, const void* program, const Plan& plan, Touched* touched) {
  const i64 workers = plan.work_items > 0 ? std::min<i64>(plan.work_items, spec_.cpes) : spec_.cpes;
  std::vector<char> scratch(static_cast<std::size_t>(plan.scratch_bytes) + alignment);
  void* place = scratch.data();
  std::size_t space = scratch.size();
  std::align(alignment, static_cast<std::size_t>(plan.scratch_bytes), place, space);
  Launch launch{label, plan, memory_, lanes_, static_cast<char*>(place), record_, 0, workers, first_item(), touched};
  const auto ends = [&] { next_item_ = launch.first_item + static_cast<std::uint32_t>(launch.items.size()); };
  try {
    for (; launch.worker < launch.workers; ++launch.worker) entry.run(launch, program);
  } catch (...) {
    ends();
    throw;
  }
  ends();
  if (launch.failed)
    throw ClusterError(std::string("program ") + label,
                       "failed at line " + std::to_string(launch.index) + " with code " + std::to_string(launch.code));
}

/// Item numbers go on from launch to launch, so that old records need no clearing until the numbers run out.
std::uint32_t Cluster::first_item() {
  constexpr std::uint32_t enough = 1u << 31;
  if (next_item_ >= enough) {
    memory_.forget(record_);
    next_item_ = 1;
  }
  return next_item_;
}

}  // namespace cortado::reference
