#include "backends/kokkos/processor.h"

#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#if defined(CORTADO_KOKKOS_CUDA)
#include "backends/kokkos/cuda_devices.h"
#else
#include "backends/kokkos/amx.h"
#endif
#include "backends/kokkos/group_common.h"
#include "backends/kokkos/runtime.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/machine/group_barrier.h"

namespace cortado::kokkos {
namespace {

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
  KokkosProcessor(const std::vector<int>& devices, int threads, Tf32 tf32, Programs programs)
      : runtime_(Runtime::get(static_cast<int>(devices.size()) * threads, devices.front())),
        programs_(std::move(programs)),
        threads_(threads),
        groups_(make_groups(devices, threads, tf32, programs_)) {}

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
  std::shared_ptr<Runtime> runtime_;  // goes last
  const Programs programs_;
  const int threads_;
  std::vector<std::unique_ptr<CoreGroup>> groups_;
};

/// The threads of all core groups together. Kokkos' tables of threads (OpenMPExec) have this many places, and no bound
/// is checked.
int count_threads(const Options& options, int core_groups) {
  constexpr int most = 512;
  const bool is_asked = std::getenv("OMP_NUM_THREADS") != nullptr;
  const int wanted = options.threads > 0 ? options.threads : Runtime::default_threads();
  if (core_groups > most)
    throw ConfigError("--core-groups", std::to_string(core_groups) + " are more than the " + std::to_string(most) +
                                           " threads that Kokkos can run in a process");
  if (wanted <= most) return wanted;
  if (is_asked)
    throw ConfigError("OMP_NUM_THREADS",
                      std::to_string(wanted) + " are more than the " + std::to_string(most) +
                          " threads that Kokkos can run in a process",
                      "set it to " + std::to_string(most) + " or less, or start several ranks on the node");
  CORTADO_LOG(warning) << "Of " << wanted << " processors " << most
                       << " are used: Kokkos can run no more threads in a process; start several ranks on the node";
  return most;
}
}  // namespace

std::unique_ptr<Processor> make_processor(const Options& options, Programs programs) {
#if defined(CORTADO_KOKKOS_CUDA)
  const std::vector<int> devices = choose_cuda_devices(options);
#else
  const std::vector<int> devices(static_cast<std::size_t>(std::max(1, options.core_groups)));
  if (!options.amx) Amx::forbid();
#endif
  const int core_groups = static_cast<int>(devices.size());
  const int threads = count_threads(options, core_groups);
  return std::make_unique<KokkosProcessor>(devices, std::max(1, threads / core_groups), options.tf32,
                                           std::move(programs));
}

std::vector<std::pair<std::string, std::string>> software() {
#if defined(CORTADO_KOKKOS_CUDA)
  return cuda_software();
#else
  return {};
#endif
}

}  // namespace cortado::kokkos
