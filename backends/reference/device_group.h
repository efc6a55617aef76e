#pragma once
#include <map>
#include <mutex>

#include "backends/reference/cluster.h"
#include "backends/reference/work_queue.h"
#include "core/machine/core_group.h"

namespace cortado::reference {

/// A core group whose memory host code does not reach and whose work is queued (WorkQueue), as a device's. It is to
/// find what only a device would show:
///   - host code that follows a pointer into cluster memory ends with a message;
///   - what a copy brings to host memory is there when it was waited for; until then NaNs are;
///   - a copy reads host memory as late as it may, and reports memory that changed since it was queued;
///   - operations of two streams on the same memory that nothing orders are reported, programs' too.
/// Reports come as ClusterError from the wait, like failures of programs. `release` waits for everything.
class DeviceGroup : public CoreGroup {
 public:
  DeviceGroup(const MachineSpec& spec, int index, int lanes, const Programs& programs, Memory& memory, Haste haste,
              std::uint64_t seed);

  const MachineSpec& spec() const override { return spec_; }
  int index() const override { return index_; }
  void* allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void release(void* memory) noexcept override;
  void* allocate_staging(std::size_t bytes) override;
  void release_staging(void* memory) noexcept override;
  Stream make_stream() override;
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override;
  void zero(void* memory, std::size_t bytes, Stream stream) override;
  void wait() override;
  void order(Stream earlier, Stream later) override;
  Event record(Stream stream) override;
  double seconds_between(const Event& from, const Event& to) override;
  std::unique_ptr<CoreGroup> make_helper() override;

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) override;

 private:
  char* place_of(const void* p, std::size_t bytes, const std::string& what) const;

  const MachineSpec& spec_;
  const int index_;
  const int lanes_;
  const Programs& programs_;
  const Haste haste_;
  const std::uint64_t seed_;
  Cluster cluster_;
  Memory& memory_;
  std::mutex mutex_;  // staging memory comes and goes on readers' threads too
  WorkQueue queue_;
};

}  // namespace cortado::reference
