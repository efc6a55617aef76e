#include "backends/sunway/sim/processor.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "backends/sunway/launch.h"
#include "backends/sunway/memory_programs.h"
#include "backends/sunway/sim/machine.h"
#include "backends/sunway/sim/profile.h"
#include "core/base/error.h"
#include "core/machine/group_barrier.h"

namespace cortado::sunway::sim {
namespace {

constexpr i64 failure_words = 3;

MachineSpec spec_of(const Options& options, const Costs& costs) {
  MachineSpec spec = machine_spec(costs);
  spec.description = costs.title + ", simulated";
  spec.core_groups = options.core_groups > 0 ? options.core_groups : costs.core_groups;
  spec.timing_only = options.timing_only;
  return spec;
}

class Group : public CoreGroup {
 public:
  Group(const MachineSpec& spec, const Costs& costs, int index, const Programs& programs, Memory& memory)
      : spec_(spec),
        costs_(costs),
        index_(index),
        programs_(programs),
        memory_(memory),
        machine_(costs, memory, index, spec.timing_only) {
    launch_ = static_cast<Launch*>(memory_.allocate(sizeof(Launch)));
    program_ = memory_.allocate(most_program_bytes);
    failures_ = static_cast<i64*>(memory_.allocate(sizeof(i64) * failure_words * port_cpes));
  }
  ~Group() override {
    for (void* p : {static_cast<void*>(launch_), program_, static_cast<void*>(failures_)}) memory_.release(p);
  }

  const MachineSpec& spec() const override { return spec_; }
  int index() const override { return index_; }
  void* allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void release(void* memory) noexcept override { memory_.release(memory); }

  // Everything happens at once on the host, and one after the other in simulated time.
  Stream make_stream() override { return Stream{++streams_}; }
  void order(Stream, Stream) override {}

  void copy(void* to, const void* from, std::size_t bytes, Stream) override {
    if (!on_cluster(to, bytes) || !memory_.holds(from, bytes))
      return by_mpe(bytes, [&] { std::memmove(to, from, bytes); });
    move(static_cast<const std::uint32_t*>(from), static_cast<std::uint32_t*>(to), bytes);
  }
  void zero(void* memory, std::size_t bytes, Stream) override {
    if (!on_cluster(memory, bytes)) return by_mpe(bytes, [&] { std::memset(memory, 0, bytes); });
    move(nullptr, static_cast<std::uint32_t*>(memory), bytes);
  }

  void wait() override {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  Event record(Stream) override { return Event{clock_ / costs_.hz, nullptr}; }
  double seconds_between(const Event& from, const Event& to) override { return to.seconds - from.seconds; }
  std::string why_no_library() const override { return "the Sunway backend has no matrix library"; }

  const Profile& profile() const { return profile_; }
  double clock() const { return clock_; }
  void set_clock(double clock) { clock_ = clock; }

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream) override {
    const Entry entry = programs_.find(key);
    if (entry.run == nullptr)
      throw BugError(std::string("program ") + label, "is not built for this backend",
                     "list it with cortado_programs in its folder's CMakeLists.txt");
    check_plan(label, plan, spec_.scratch_bytes);
    try {
      start(entry, label, program);
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }

 private:
  bool on_cluster(const void* p, std::size_t bytes) const {
    constexpr std::size_t worth_a_launch = 128 * 1024;
    return bytes >= worth_a_launch && bytes % 4 == 0 && memory_.holds(p, bytes);
  }
  template <class Work>
  void by_mpe(std::size_t bytes, Work work) {
    if (!spec_.timing_only || bytes < 4096) work();
    clock_ += static_cast<double>(bytes) / costs_.mpe_bandwidth * costs_.hz;
  }
  void move(const std::uint32_t* from, std::uint32_t* to, std::size_t bytes) {
    MoveWords p{from, to, static_cast<i64>(bytes / 4), line_elements(spec_, static_cast<i64>(bytes / 4), 3), {}, {}};
    PlanBuilder book(spec_);
    p.in_buf = book.line<std::uint32_t>("in", p.block, Depth::two);
    p.out_buf = book.line<std::uint32_t>("out", p.block, 1);
    const Plan plan = book.plan((p.words + p.block - 1) / p.block);
    check_plan(MoveWords::label, plan, spec_.scratch_bytes);
    try {
      start(Entry{&run_on_cpe<MoveWords>, sizeof p}, MoveWords::label, &p);
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void start(const Entry& entry, const char* label, const void* program) {
    std::memcpy(program_, program, entry.program_bytes);
    std::fill_n(failures_, failure_words * port_cpes, i64{0});
    *launch_ = Launch{program_, failures_};
    clock_ += costs_.spawn;
    clock_ = machine_.run(label, entry.run, launch_, clock_);
    profile_.add(machine_.profile());
    for (int cpe = 0; cpe < port_cpes; ++cpe) {
      const i64* const failure = failures_ + failure_words * cpe;
      if (failure[0] != 0)
        throw ClusterError(std::string("program ") + label,
                           "failed at line " + std::to_string(failure[2]) + " with code " + std::to_string(failure[1]));
    }
  }

  const MachineSpec& spec_;
  const Costs& costs_;
  const int index_;
  const Programs& programs_;
  Memory& memory_;
  Machine machine_;
  Launch* launch_;
  void* program_;
  i64* failures_;
  int streams_ = 0;
  double clock_ = 0;
  Profile profile_;
  std::exception_ptr failure_;
};

/// A barrier after which the groups' clocks agree: the latest to come releases all.
class ClockBarrier : public GroupBarrier {
 public:
  ClockBarrier(GroupBarrier& barrier, Group& group, std::vector<double>& clocks)
      : barrier_(barrier), group_(group), clocks_(clocks) {}
  void arrive_and_wait() override {
    clocks_[static_cast<std::size_t>(group_.index())] = group_.clock();
    barrier_.arrive_and_wait();
    const double latest = *std::max_element(clocks_.begin(), clocks_.end());
    barrier_.arrive_and_wait();
    group_.set_clock(latest);
  }

 private:
  GroupBarrier& barrier_;
  Group& group_;
  std::vector<double>& clocks_;
};

class SimulatedProcessor : public Processor {
 public:
  SimulatedProcessor(const Options& options, Programs programs)
      : options_(options),
        costs_(machine_description(options.machine).costs),
        programs_(std::move(programs)),
        spec_(spec_of(options, costs_)) {
    for (int i = 0; i < spec_.core_groups; ++i)
      groups_.push_back(std::make_unique<Group>(spec_, costs_, i, programs_, memory_));
  }
  ~SimulatedProcessor() override {
    if (options_.profile.empty()) return;
    std::vector<const Profile*> profiles;
    for (const auto& group : groups_) profiles.push_back(&group->profile());
    std::fflush(stdout);  // where both go to one file, tables part no line
    try {
      for (const Profile* profile : profiles)
        if (!profile->launches().empty()) std::fprintf(stderr, "%s", profile->table(costs_, spec_.peak_flops).c_str());
      write_timeline(options_.profile, profiles, costs_);
    } catch (const Error& error) { std::fprintf(stderr, "%s\n", error.what()); }
  }

  int core_groups() const override { return spec_.core_groups; }
  CoreGroup& group(int index) override { return *groups_.at(static_cast<std::size_t>(index)); }

  void run(const std::function<void(CoreGroup&, GroupBarrier&)>& work) override {
    GroupRun run(core_groups());
    std::vector<double> clocks(groups_.size());
    const auto member = [&](int index) {
      Group& own = *groups_[static_cast<std::size_t>(index)];
      run.member([&](GroupBarrier& barrier) {
        ClockBarrier clock_barrier(barrier, own, clocks);
        work(own, clock_barrier);
      });
    };
    std::vector<std::thread> threads;
    for (int index = 1; index < core_groups(); ++index) threads.emplace_back(member, index);
    member(0);
    for (auto& thread : threads) thread.join();
    run.finish();
  }

 private:
  const Options options_;
  const Costs& costs_;
  const Programs programs_;
  const MachineSpec spec_;
  Memory memory_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace

std::unique_ptr<Processor> make_processor(const Options& options, Programs programs) {
  return std::make_unique<SimulatedProcessor>(options, std::move(programs));
}

}  // namespace cortado::sunway::sim
