#include "backends/kokkos/group_common.h"

#include <algorithm>

#include "backends/kokkos/context.h"
#include "core/base/error.h"

namespace cortado::kokkos {
namespace {
std::string named(const char* label) { return std::string("program ") + label; }
}  // namespace

Grant grant_of(const Plan& plan, const char* label, const MachineSpec& spec) {
  if (plan.bookings.size() > max_bookings)
    throw PlanError(named(label), "books " + std::to_string(plan.bookings.size()) + " buffers, at most " +
                                      std::to_string(max_bookings) + " are possible");
  const i64 needed = plan.scratch_bytes - plan.spilled_bytes;
  if (needed > spec.scratch_bytes)
    throw PlanError(named(label), "needs " + std::to_string(needed) + " bytes of scratchpad, " + spec.name + " has " +
                                      std::to_string(spec.scratch_bytes));
  Grant grant;
  grant.label = label;
  grant.workers = plan.work_items > 0 ? std::min<i64>(plan.work_items, spec.cpes) : spec.cpes;
  return grant;
}

Entry entry_of(const Programs& programs, ProgramKey key, const char* label) {
  const Entry entry = programs.find(key);
  if (entry == nullptr)
    throw BugError(named(label), "is not built for this backend",
                   "list it with cortado_programs in its folder's CMakeLists.txt, without CACHES_ONLY");
  return entry;
}

void throw_failure(const Failure& failure) {
  throw ClusterError(named(failure.label),
                     "failed at line " + std::to_string(failure.index) + " with code " + std::to_string(failure.code));
}

}  // namespace cortado::kokkos
