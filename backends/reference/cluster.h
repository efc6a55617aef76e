#pragma once
#include <cstdint>

#include "backends/reference/cpe.h"
#include "core/machine/machine_spec.h"

namespace cortado::reference {

/// The compute cluster of one core group: runs programs on its CPEs, one after the other.
class Cluster {
 public:
  Cluster(const MachineSpec& spec, int lanes, const Programs& programs, Memory& memory)
      : spec_(spec), lanes_(lanes), programs_(programs), memory_(memory), record_(memory.begin_record()) {}
  ~Cluster() { memory_.end_record(record_); }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// The program, if it may run with the plan. Throws BugError when this backend was built without it, PlanError for a
  /// plan that contradicts itself or needs more scratchpad than a CPE has.
  Entry find(ProgramKey key, const char* label, const Plan& plan) const;

  /// Runs it to its end; `touched`, if not null, learns what memory it read and wrote. Throws what went wrong.
  void run(const Entry& entry, const char* label, const void* program, const Plan& plan, Touched* touched);

 private:
  std::uint32_t first_item();

  const MachineSpec& spec_;
  Lanes lanes_;
  const Programs& programs_;
  Memory& memory_;
  const int record_;  // of what it touches in memory
  std::uint32_t next_item_ = 1;
};

}  // namespace cortado::reference
