#include "backends/kokkos/processor.h"

#include <omp.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "backends/kokkos/openmp_group.h"
#include "backends/kokkos/runtime.h"
#include "core/base/error.h"
#include "core/machine/group_barrier.h"

namespace cortado::kokkos {
namespace {

/// The execution space of one core group. Kokkos before 4.0 has no instances to keep: there the calling thread
/// decides (see run_members).
Space space_of(int core_groups, int threads) {
#if KOKKOS_VERSION >= 40000
  if (core_groups > 1 || threads < Space().concurrency()) return Space(threads);
#else
  static_cast<void>(core_groups);
  static_cast<void>(threads);
#endif
  return Space();
}

/// Calls member(index) for 0..count-1, each on a thread that may launch on `threads` threads of its own.
template <class F>
void run_members(int count, int threads, F member) {
#if KOKKOS_VERSION >= 40000
  std::vector<std::thread> running;
  for (int i = 0; i < count; ++i)
    running.emplace_back([=] {
      omp_set_num_threads(threads);
      member(i);
    });
  for (auto& thread : running) thread.join();
#else
  Space::partition_master([&](int index, int) { member(index); }, count, threads);
#endif
}

class KokkosProcessor : public Processor {
 public:
  KokkosProcessor(int core_groups, int threads, Programs programs)
      : runtime_(Runtime::get(core_groups * threads)), programs_(std::move(programs)), threads_(threads) {
    check_threads(core_groups);
    const MachineSpec spec = openmp_spec(core_groups, threads);
    for (int i = 0; i < core_groups; ++i)
      groups_.push_back(std::make_unique<OpenMPGroup>(i, spec, space_of(core_groups, threads), programs_));
  }

  int core_groups() const override { return static_cast<int>(groups_.size()); }
  CoreGroup& group(int index) override { return *groups_.at(static_cast<std::size_t>(index)); }

  void run(const std::function<void(CoreGroup&, GroupBarrier&)>& work) override {
    GroupRun run(core_groups());
    const auto member = [&](int index) { run.member([&](GroupBarrier& barrier) { work(group(index), barrier); }); };
    if (core_groups() == 1)
      member(0);
    else
      run_members(core_groups(), threads_, member);
    run.finish();
  }

 private:
  static void check_threads(int core_groups) {
#if KOKKOS_VERSION < 40000
    if (core_groups > Space().concurrency())
      throw ConfigError("",
                        std::to_string(core_groups) + " core groups need as many OpenMP threads, Kokkos has " +
                            std::to_string(Space().concurrency()),
                        "set OMP_NUM_THREADS");
#else
    static_cast<void>(core_groups);
#endif
  }

  std::shared_ptr<Runtime> runtime_;  // goes last
  const Programs programs_;
  const int threads_;
  std::vector<std::unique_ptr<OpenMPGroup>> groups_;
};

}  // namespace

std::unique_ptr<Processor> make_processor(const Options& options, Programs programs) {
  const int core_groups = std::max(1, options.core_groups);
  const int threads = options.threads > 0 ? options.threads : Runtime::default_threads();
  return std::make_unique<KokkosProcessor>(core_groups, std::max(1, threads / core_groups), std::move(programs));
}

}  // namespace cortado::kokkos
