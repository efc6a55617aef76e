#include "backends/sunway/launch_data.h"

#include "core/base/error.h"

namespace cortado::sunway {

void check_plan(const char* label, const Plan& plan, i64 scratch_bytes) {
  const std::string where = std::string("program ") + label;
  if (plan.scratch_bytes > scratch_bytes)
    throw PlanError(where, "needs " + std::to_string(plan.scratch_bytes) + " bytes of scratchpad, a CPE has " +
                               std::to_string(scratch_bytes));
  if (plan.bookings.size() > max_buffers)
    throw PlanError(where, "books " + std::to_string(plan.bookings.size()) + " buffers, the most are " +
                               std::to_string(max_buffers));
  for (const auto& booking : plan.bookings)
    if (booking.place.slots < 1 || booking.place.slots > max_slots)
      throw PlanError(where, "books " + std::to_string(booking.place.slots) + " slots for '" + booking.name +
                                 "', the most are " + std::to_string(max_slots));
}

}  // namespace cortado::sunway
