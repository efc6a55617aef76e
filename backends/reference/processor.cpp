#include "backends/reference/processor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "backends/reference/cpe.h"
#include "core/base/error.h"
#include "core/machine/group_barrier.h"

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

class Group : public CoreGroup {
 public:
  Group(const MachineSpec& spec, int index, int lanes, const Programs& programs, Memory& memory)
      : spec_(spec), index_(index), lanes_(lanes), programs_(programs), memory_(memory) {}

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

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream) override {
    const Entry entry = programs_.find(key);
    if (entry == nullptr)
      throw BugError(std::string("program ") + label, "is not built for this backend",
                     "list it with cortado_programs in its folder's CMakeLists.txt");
    check_plan(plan, label, spec_);
    const i64 workers = plan.work_items > 0 ? std::min<i64>(plan.work_items, spec_.cpes) : spec_.cpes;
    std::vector<char> scratch(static_cast<std::size_t>(plan.scratch_bytes) + alignment);
    void* place = scratch.data();
    std::size_t space = scratch.size();
    std::align(alignment, static_cast<std::size_t>(plan.scratch_bytes), place, space);
    Launch launch{label, plan, memory_, lanes_, static_cast<char*>(place), index_, 0, workers, first_item()};
    try {
      run(entry, launch, program);
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
    next_item_ = launch.first_item + static_cast<std::uint32_t>(launch.items.size());
  }

 private:
  static void run(Entry entry, Launch& launch, const void* program) {
    for (; launch.worker < launch.workers; ++launch.worker) entry(launch, program);
    if (!launch.failed) return;
    throw ClusterError(std::string("program ") + launch.label,
                       "failed at line " + std::to_string(launch.index) + " with code " + std::to_string(launch.code));
  }

  /// Item numbers go on from launch to launch, so that old records need no clearing until the numbers run out.
  std::uint32_t first_item() {
    constexpr std::uint32_t enough = 1u << 31;
    if (next_item_ >= enough) {
      memory_.forget(index_);
      next_item_ = 1;
    }
    return next_item_;
  }

  const MachineSpec& spec_;
  const int index_;
  Lanes lanes_;
  const Programs& programs_;
  Memory& memory_;
  int streams_ = 0;
  std::uint32_t next_item_ = 1;
  std::exception_ptr failure_;
};

MachineSpec spec_of(const Options& options) {
  MachineSpec spec;
  spec.name = "reference";
  spec.description = options.lanes > 1 ? "serial, checking, " + std::to_string(options.lanes) + " lanes per CPE"
                                       : std::string("serial, checking");
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
      : programs_(std::move(programs)), spec_(spec_of(options)), memory_(spec_.core_groups) {
    for (int i = 0; i < spec_.core_groups; ++i)
      groups_.push_back(std::make_unique<Group>(spec_, i, std::max(1, options.lanes), programs_, memory_));
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
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace

std::unique_ptr<Processor> make_processor(const Options& options, Programs programs) {
  return std::make_unique<ReferenceProcessor>(options, std::move(programs));
}

}  // namespace cortado::reference
