#include "backends/sunway/athread/processor.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "backends/sunway/costs.h"
#include "backends/sunway/launch_data.h"
#include "backends/sunway/port.h"
#include "core/base/error.h"
#include "core/machine/group_barrier.h"

namespace cortado::sunway::athread {
namespace {
constexpr std::size_t alignment = 128;
constexpr i64 failure_words = 3;

class Group : public CoreGroup {
 public:
  Group(const MachineSpec& spec, const Programs& programs) : spec_(spec), programs_(programs) {
    launch_ = static_cast<Launch*>(allocate(sizeof(Launch)));
    program_ = allocate(most_program_bytes);
    failures_ = static_cast<i64*>(allocate(sizeof(i64) * failure_words * port_cpes));
  }
  ~Group() override {
    release(launch_);
    release(program_);
    release(failures_);
  }

  const MachineSpec& spec() const override { return spec_; }
  int index() const override { return 0; }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes > 0 ? bytes : 1) != 0)
      throw Error("core group", "has no " + std::to_string(bytes >> 20) + " MB of memory left", "use a smaller batch");
    return memory;
  }
  void release(void* memory) noexcept override { std::free(memory); }

  // Everything is done when the call returns.
  Stream make_stream() override { return Stream{++streams_}; }
  void order(Stream, Stream) override {}
  void copy(void* to, const void* from, std::size_t bytes, Stream) override { std::memmove(to, from, bytes); }
  void zero(void* memory, std::size_t bytes, Stream) override { std::memset(memory, 0, bytes); }
  void wait() override {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  Event record(Stream) override {
    return Event{std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(), nullptr};
  }
  double seconds_between(const Event& from, const Event& to) override { return to.seconds - from.seconds; }
  std::string why_no_library() const override { return "the Sunway backend has no matrix library"; }

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream) override {
    const Entry entry = programs_.find(key);
    if (entry.run == nullptr)
      throw BugError(std::string("program ") + label, "is not built for this backend",
                     "list it with cortado_programs in its folder's CMakeLists.txt");
    check_plan(label, plan, spec_.scratch_bytes);
    std::memcpy(program_, program, entry.program_bytes);
    std::memset(failures_, 0, sizeof(i64) * failure_words * port_cpes);
    *launch_ = Launch{program_, failures_};
    port_spawn(entry.run, launch_);
    port_join();
    for (int cpe = 0; cpe < port_cpes && !failure_; ++cpe) {
      const i64* const failure = failures_ + failure_words * cpe;
      if (failure[0] != 0)
        failure_ = std::make_exception_ptr(
            ClusterError(std::string("program ") + label,
                         "failed at line " + std::to_string(failure[2]) + " with code " + std::to_string(failure[1])));
    }
  }

 private:
  const MachineSpec& spec_;
  const Programs& programs_;
  Launch* launch_;
  void* program_;
  i64* failures_;
  int streams_ = 0;
  std::exception_ptr failure_;
};

MachineSpec spec_of_machine() {
#ifdef CORTADO_SUNWAY_PRO
  const char* const machine = "sw26010pro";
#else
  const char* const machine = "sw26010";
#endif
  MachineSpec spec = machine_spec(machine_description(machine).costs);
  require(spec.scratch_bytes == port_scratch_bytes, "the port has the scratchpad of the machine's description");
  spec.host_memory = true;
  spec.description += ", one core group";
  return spec;
}

class AthreadProcessor : public Processor {
 public:
  explicit AthreadProcessor(Programs programs) : programs_(std::move(programs)), group_(spec_, programs_) {}
  int core_groups() const override { return 1; }
  CoreGroup& group(int) override { return group_; }
  void run(const std::function<void(CoreGroup&, GroupBarrier&)>& work) override {
    GroupRun run(1);
    run.member([&](GroupBarrier& barrier) { work(group_, barrier); });
    run.finish();
  }

 private:
  const MachineSpec spec_ = spec_of_machine();
  const Programs programs_;
  Group group_;
};

}  // namespace

std::unique_ptr<Processor> make_processor(int core_groups, Programs programs) {
  if (core_groups > 1)
    throw ConfigError("--core-groups", "a process has one core group here", "start one process per core group");
  return std::make_unique<AthreadProcessor>(std::move(programs));
}

}  // namespace cortado::sunway::athread
