#include "backends/reference/processor.h"

#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "backends/reference/launch_state.h"
#include "core/base/error.h"
#include "core/machine/group_barrier.h"

namespace cortado::reference {
namespace {

constexpr std::align_val_t kAlignment{128};

class Group : public CoreGroup {
 public:
  Group(const MachineSpec& spec, int index, const Programs& programs)
      : spec_(spec), index_(index), programs_(programs) {}

  const MachineSpec& spec() const override { return spec_; }
  int index() const override { return index_; }
  void* allocate(std::size_t bytes) override { return ::operator new(bytes, kAlignment); }
  void release(void* memory) noexcept override { ::operator delete(memory, kAlignment); }
  Stream make_stream() override { return Stream{++streams_}; }
  void copy(void* to, const void* from, std::size_t bytes, Stream) override { std::memmove(to, from, bytes); }
  void zero(void* memory, std::size_t bytes, Stream) override { std::memset(memory, 0, bytes); }
  void order(Stream, Stream) override {}

  void wait() override {
    if (pending_) std::rethrow_exception(std::exchange(pending_, nullptr));
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
      throw BugError(std::string("program ") + label, "is not compiled for backend reference",
                     "list it with cortado_programs in its folder's CMakeLists.txt");
    Launch launch;
    launch.workers = spec_.cpes;
    void* const scratch = ::operator new(static_cast<std::size_t>(plan.scratch_bytes) + 128, kAlignment);
    launch.scratch = static_cast<char*>(scratch);
    for (launch.worker = 0; launch.worker < launch.workers; ++launch.worker) entry(launch, program);
    ::operator delete(scratch, kAlignment);
    if (launch.failed && !pending_)
      pending_ = std::make_exception_ptr(
          ClusterError(std::string("program ") + label + ", line " + std::to_string(launch.index),
                       "failed with code " + std::to_string(launch.code)));
  }

 private:
  const MachineSpec& spec_;
  const int index_;
  const Programs& programs_;
  int streams_ = 0;
  std::exception_ptr pending_;
};

class ReferenceProcessor : public Processor {
 public:
  ReferenceProcessor(const Options& options, Programs programs) : programs_(std::move(programs)) {
    spec_.name = "reference";
    spec_.description = "serial checking context";
    spec_.core_groups = options.core_groups > 0 ? options.core_groups : 1;
    spec_.cpes = options.cpes;
    spec_.scratch_bytes = options.scratch_bytes;
    spec_.lines_in_scratch = true;
    spec_.simd_bytes = 16;
    for (int i = 0; i < spec_.core_groups; ++i) groups_.push_back(std::make_unique<Group>(spec_, i, programs_));
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
  MachineSpec spec_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace

std::unique_ptr<Processor> make_processor(const Options& options, Programs programs) {
  return std::make_unique<ReferenceProcessor>(options, std::move(programs));
}

}  // namespace cortado::reference
