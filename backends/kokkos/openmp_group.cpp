#include "backends/kokkos/openmp_group.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "backends/kokkos/amx.h"
#include "backends/kokkos/binding.h"
#include "backends/kokkos/blas.h"
#include "backends/kokkos/group_common.h"
#include "backends/kokkos/host_vector.h"
#include "backends/kokkos/launch.h"
#include "core/base/memory_error.h"
#include "core/machine/free_memory.h"
#include "core/machine/host_topology.h"
#include "core/machine/integers.h"

namespace cortado::kokkos {
namespace {

constexpr std::size_t alignment = 128;

constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Lets what fills huge pages lie in them, where the system leaves that to programs: fewer addresses to translate. The
/// rest of the last one stays as it is, so an array grows only where it is never touched.
void use_huge_pages(void* memory, std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
#else
  static_cast<void>(memory), static_cast<void>(bytes);
#endif
}

/// Calls f(first, bytes) for parts of a range of memory, in parallel where it is long enough to be worth it.
template <class F>
void for_parts(const char* label, const Space& space, int workers, std::size_t bytes, F f) {
  constexpr std::size_t worth = std::size_t{1} << 20;
  if (bytes < worth || workers == 1) return f(std::size_t{0}, bytes);
  const std::size_t part = static_cast<std::size_t>(round_up(static_cast<i64>(bytes) / workers + 1, 4096));
  Kokkos::parallel_for(label, Kokkos::RangePolicy<Space>(space, 0, workers, Kokkos::ChunkSize(1)), [=](int worker) {
    const std::size_t first = std::min(bytes, part * static_cast<std::size_t>(worker));
    f(first, std::min(part, bytes - first));
  });
}

/// Throws ConfigError where SVE's vectors are not as long as those that the compiler made everything for.
void require_vector_length() {
#if __ARM_FEATURE_SVE_BITS >= 256
  std::size_t bytes = 0;
  asm("rdvl %0, #1" : "=r"(bytes));  // the compiler's own function tells what it was told
  if (bytes != sizeof(Vector))
    throw ConfigError("this processor",
                      "has " + std::to_string(8 * bytes) + "-bit SVE vectors, this program was built for " +
                          std::to_string(8 * sizeof(Vector)),
                      "build it with CORTADO_SVE_BITS=" + std::to_string(8 * bytes) + ", or empty for NEON");
#endif
}

/// The machine of a core group of `threads` OpenMP threads, one of `core_groups`.
MachineSpec openmp_spec(int core_groups, int threads) {
  const std::vector<CpuSet> bound = cpus_of_threads(core_groups * threads);
  CpuSet cpus;
  for (const CpuSet& one : bound) cpus |= one;
  const HostTopology::Share share = HostTopology::here().share_of(cpus);
  MachineSpec spec;
  spec.name = "openmp";
  // Width and AMX too: what the build and the system use of the processor.
  spec.description = share.processor + ", " + std::to_string(8 * sizeof(Vector)) + "-bit vectors, " +
                     (Amx::available() ? "AMX, " : "") + std::to_string(core_groups) + " x " + std::to_string(threads) +
                     " OpenMP thread" + (core_groups * threads == 1 ? " " : "s ") + describe_binding(bound);
  spec.core_groups = core_groups;
  spec.cpes = threads;
  // Half of a core's second-level cache: the other half is for what lines borrow and for the system. Cores that share
  // it (A64FX: twelve) share its bytes.
  const i64 l2 = share.l2 / share.l2_cores;
  spec.scratch_bytes = l2 > 0 ? l2 / 2 : i64{512} * 1024;
  spec.cache_bytes = share.last > l2 ? share.last : 0;
  spec.bf16 = true;
  spec.bf16_speed = Amx::available() ? 16 : has_bf16_vectors ? 2 : 1;
  spec.simd_bytes = static_cast<int>(sizeof(Vector));
  return spec;
}

/// The execution space of one core group. Kokkos before 4.0 has no instances to keep: there the calling thread
/// decides (see Processor::run).
Space space_of(int core_groups, int threads) {
#if KOKKOS_VERSION >= 40000
  if (core_groups > 1 || threads < Space().concurrency()) return Space(threads);
#else
  static_cast<void>(threads);
  if (core_groups > Space().concurrency())
    throw ConfigError("",
                      std::to_string(core_groups) + " core groups need as many threads, Kokkos was started with " +
                          std::to_string(Space().concurrency()),
                      "set OMP_NUM_THREADS");
#endif
  return Space();
}

}  // namespace

std::vector<std::unique_ptr<CoreGroup>> make_groups(const std::vector<int>& devices, int threads, Tf32 /*tf32*/,
                                                    const Programs& programs) {
  require_vector_length();
  const int core_groups = static_cast<int>(devices.size());
  const MachineSpec spec = openmp_spec(core_groups, threads);
  std::vector<std::unique_ptr<CoreGroup>> groups;
  for (int i = 0; i < core_groups; ++i)
    groups.push_back(std::make_unique<OpenMPGroup>(i, spec, space_of(core_groups, threads), programs));
  return groups;
}

OpenMPGroup::OpenMPGroup(int index, const MachineSpec& spec, const Space& space, const Programs& programs)
    : index_(index),
      spec_(spec),
      space_(space),
      programs_(programs),
      library_(make_blas(space, spec.cpes)),
      taken_(static_cast<std::size_t>(spec.cpes * shared_lists)) {}

OpenMPGroup::~OpenMPGroup() { release(scratch_); }

void* OpenMPGroup::allocate(std::size_t bytes) {
  const std::size_t whole = bytes + HostTeam::slack;  // vectors may be read past the end of what is staged
  require_memory("core group " + std::to_string(index_), bytes);
  const bool is_large = whole >= huge_page;
  void* memory = nullptr;
  if (posix_memalign(&memory, is_large ? huge_page : alignment, whole) != 0)
    throw MemoryError("core group " + std::to_string(index_),
                      "cannot allocate " + megabytes_text(static_cast<double>(bytes)));
  if (is_large) use_huge_pages(memory, whole);
  return memory;
}

void OpenMPGroup::release(void* memory) noexcept { std::free(memory); }

std::unique_ptr<CoreGroup> OpenMPGroup::make_helper() {
  MachineSpec spec = spec_;
  spec.cpes = 1;
#if KOKKOS_VERSION >= 40000
  return std::make_unique<OpenMPGroup>(index_, spec, Space(1), programs_);
#else
  // A thread that Kokkos does not know does all work itself.
  return std::make_unique<OpenMPGroup>(index_, spec, Space(), programs_);
#endif
}

void OpenMPGroup::copy(void* to, const void* from, std::size_t bytes, Stream) {
  for_parts("copy", space_, spec_.cpes, bytes, [=](std::size_t first, std::size_t count) {
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, count);
  });
}

void OpenMPGroup::zero(void* memory, std::size_t bytes, Stream) {
  for_parts("zero", space_, spec_.cpes, bytes,
            [=](std::size_t first, std::size_t count) { std::memset(static_cast<char*>(memory) + first, 0, count); });
}

void OpenMPGroup::wait() {
  if (failure_.taken == 0) return;
  const Failure failure = failure_;
  failure_ = {};
  throw_failure(failure);
}

CoreGroup::Event OpenMPGroup::record(Stream) {
  Event event;
  event.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return event;
}

/// Scratchpads of all workers together; grows, never shrinks.
char* OpenMPGroup::scratch(i64 bytes) {
  if (bytes > scratch_bytes_) {
    release(scratch_);
    scratch_ = nullptr;
    scratch_bytes_ = 0;
    scratch_bytes_ = round_up(bytes + HostTeam::slack, static_cast<i64>(huge_page)) - HostTeam::slack;
    scratch_ = static_cast<char*>(allocate(static_cast<std::size_t>(scratch_bytes_)));
  }
  return scratch_;
}

void OpenMPGroup::run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream) {
  Launch launch{space_, grant_of(plan, label, spec_)};
  launch.grant.scratch_bytes = round_up(plan.scratch_bytes + HostTeam::slack, alignment);
  launch.grant.scratch = scratch(launch.grant.scratch_bytes * launch.grant.workers);
  launch.grant.failure = &failure_;
  launch.grant.streams = plan.streams;
  for (Taken& taken : taken_) taken.counts.store(0, std::memory_order_relaxed);
  launch.grant.taken = taken_.data();
  entry_of(programs_, key, label)(launch, program);
}

}  // namespace cortado::kokkos
