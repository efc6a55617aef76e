#include "backends/reference/processor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "backends/reference/cluster.h"
#include "backends/reference/device_group.h"
#include "core/machine/group_barrier.h"

namespace cortado::reference {
namespace {

/// A core group that does everything at once, in the host's memory.
class Group : public CoreGroup {
 public:
  Group(const MachineSpec& spec, int index, int lanes, const Programs& programs, Memory& memory)
      : spec_(spec),
        index_(index),
        lanes_(lanes),
        programs_(programs),
        cluster_(spec, lanes, programs, memory),
        memory_(memory) {}

  const MachineSpec& spec() const override { return spec_; }
  int index() const override { return index_; }
  void* allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void release(void* memory) noexcept override { memory_.release(memory); }

  // Everything happens at once, so streams are in order as they are.
  Stream make_stream() override { return Stream{++streams_}; }
  void order(Stream, Stream) override {}
  // Pointers to nothing may be null, which the standard library does not take.
  void copy(void* to, const void* from, std::size_t bytes, Stream) override {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  void zero(void* memory, std::size_t bytes, Stream) override {
    if (bytes > 0) std::memset(memory, 0, bytes);
  }

  void wait() override {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  Event record(Stream) override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return Event{std::chrono::duration<double>(now).count(), nullptr};
  }
  double seconds_between(const Event& from, const Event& to) override { return to.seconds - from.seconds; }
  std::unique_ptr<CoreGroup> make_helper() override {
    return std::make_unique<Group>(spec_, index_, lanes_, programs_, memory_);
  }

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream) override {
    const Entry entry = cluster_.find(key, label, plan);
    try {
      cluster_.run(entry, label, program, plan, nullptr);
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }

 private:
  const MachineSpec& spec_;
  const int index_;
  const int lanes_;
  const Programs& programs_;
  Cluster cluster_;
  Memory& memory_;
  int streams_ = 0;
  std::exception_ptr failure_;
};

MachineSpec spec_of(const Options& options) {
  MachineSpec spec;
  spec.name = "reference";
  spec.description = options.lanes > 1 ? "serial, checking, " + std::to_string(options.lanes) + " lanes per CPE"
                                       : std::string("serial, checking");
  if (options.is_device) spec.description += ", memory of its own";
  spec.host_memory = !options.is_device;
  spec.core_groups = std::max(1, options.core_groups);
  spec.cpes = options.cpes;
  spec.scratch_bytes = options.scratch_bytes;
  spec.lines_in_scratch = true;
  spec.simd_bytes = 16;
  return spec;
}

class ReferenceProcessor : public Processor {
 public:
  ReferenceProcessor(const Options& options, Programs programs)
      : programs_(std::move(programs)), spec_(spec_of(options)), memory_(options.is_device) {
    const int lanes = std::max(1, options.lanes);
    for (int i = 0; i < spec_.core_groups; ++i)
      if (options.is_device)
        groups_.push_back(
            std::make_unique<DeviceGroup>(spec_, i, lanes, programs_, memory_, options.haste, options.seed));
      else
        groups_.push_back(std::make_unique<Group>(spec_, i, lanes, programs_, memory_));
  }

  int core_groups() const override { return spec_.core_groups; }
  CoreGroup& group(int index) override { return *groups_.at(static_cast<std::size_t>(index)); }

  void run(const std::function<void(CoreGroup&, GroupBarrier&)>& work) override {
    GroupRun run(core_groups());
    const auto member = [&](int index) { run.member([&](GroupBarrier& barrier) { work(group(index), barrier); }); };
    std::vector<std::thread> threads;
    for (int index = 1; index < core_groups(); ++index) threads.emplace_back(member, index);
    member(0);
    for (auto& thread : threads) thread.join();
    run.finish();
  }

 private:
  const Programs programs_;
  const MachineSpec spec_;
  Memory memory_;
  std::vector<std::unique_ptr<CoreGroup>> groups_;
};

}  // namespace

std::unique_ptr<Processor> make_processor(const Options& options, Programs programs) {
  return std::make_unique<ReferenceProcessor>(options, std::move(programs));
}

}  // namespace cortado::reference
