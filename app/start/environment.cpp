#include "app/start/environment.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <initializer_list>

namespace cortado {
namespace {
constexpr std::initializer_list<const char*> decisions = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};

/// The first of them that is set; -1: none.
int number_in(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) return std::max(0, std::atoi(text));
  return -1;
}

/// True if launchers tell of other ranks on this node: Hydra (MPICH, Intel), Open MPI, MVAPICH, Slurm.
bool shares_node() {
  return number_in({"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE",
                    "SLURM_NTASKS_PER_NODE"}) > 1;
}

bool has_one_thread() {
  cpu_set_t own;
  CPU_ZERO(&own);
  return number_in({"OMP_NUM_THREADS"}) == 1 ||
         (sched_getaffinity(0, sizeof own, &own) == 0 && CPU_COUNT(&own) == 1 && number_in({"OMP_NUM_THREADS"}) < 0);
}

void pause_once() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

/// The microseconds of one turn of libgomp's loop, which differ tenfold among processors. It takes the quickest of a
/// few trials: others may have interrupted the rest.
double pause_microseconds() {
  constexpr int turns = 1000, trials = 5;
  double best = 1e9;
  for (int trial = 0; trial < trials; ++trial) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < turns; ++i) pause_once();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / turns);
  }
  return std::max(best, 1e-4);
}
}  // namespace

void settle_environment(char** arguments) {
  for (const char* decision : decisions)
    if (std::getenv(decision) != nullptr) return;
  if (shares_node()) {
    setenv("OMP_WAIT_POLICY", "passive", 0);
  } else if (has_one_thread()) {
    return;
  } else {
    setenv("GOMP_SPINCOUNT", std::to_string(std::lround(spin_microseconds / pause_microseconds())).c_str(), 0);
    setenv("KMP_BLOCKTIME", "1", 0);  // LLVM's and Intel's runtime: milliseconds, the least that is not 0
  }
  // By its own name, which /proc/self/exe would replace in lists of processes.
  std::array<char, PATH_MAX> path{};
  if (readlink("/proc/self/exe", path.data(), path.size() - 1) > 0) execv(path.data(), arguments);
  execv("/proc/self/exe", arguments);  // returns only if it cannot; then the default has to do
}

std::string describe_waiting() {
  if (const char* count = std::getenv("GOMP_SPINCOUNT")) {
    const double microseconds = std::atof(count) * pause_microseconds();
    return "spin " + std::string(count) + " pauses, about " + std::to_string(std::lround(microseconds)) +
           " us, then sleep";
  }
  if (const char* policy = std::getenv("OMP_WAIT_POLICY")) return "as OMP_WAIT_POLICY=" + std::string(policy) + " says";
  if (const char* time = std::getenv("KMP_BLOCKTIME")) return "as KMP_BLOCKTIME=" + std::string(time) + " says";
  return has_one_thread() ? "not at all: there is one" : "as OpenMP's runtime does by default";
}

double waiting_microseconds() {
  if (const char* count = std::getenv("GOMP_SPINCOUNT")) {
    const std::string text = count;
    if (text == "infinite" || text == "infinity" || text == "INFINITY" || text == "INFINITE") return -1;
    return std::atof(count) * pause_microseconds();
  }
  if (const char* policy = std::getenv("OMP_WAIT_POLICY")) {
    const std::string text = policy;
    if (text == "active" || text == "ACTIVE") return -1;
    return text == "passive" || text == "PASSIVE" ? 0 : -2;
  }
  if (const char* time = std::getenv("KMP_BLOCKTIME"))
    return std::string(time) == "infinite" ? -1 : 1e3 * std::atof(time);
  return has_one_thread() ? 0 : -2;
}

void outlive_failed_writes() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

int launched_rank() {
  return std::max(0,
                  number_in({"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"}));
}

}  // namespace cortado
