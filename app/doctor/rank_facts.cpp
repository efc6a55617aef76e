#include "app/doctor/rank_facts.h"

#include <dlfcn.h>
#include <mpi.h>
#include <sys/resource.h>
#include <sys/timex.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/build_info.h"
#include "app/doctor/file_facts.h"
#include "app/session/backend.h"
#include "app/start/environment.h"
#include "comm/mpi_library.h"
#include "core/machine/free_memory.h"

namespace cortado::doctor {
namespace {
namespace fs = std::filesystem;

constexpr const char* variables[] = {
    // threads
    "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY", "OMP_THREAD_LIMIT", "GOMP_SPINCOUNT",
    "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_BLOCKTIME", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE",
    "GOTO_NUM_THREADS", "MKL_NUM_THREADS",
    // messages
    "UCX_TLS", "UCX_NET_DEVICES", "FI_PROVIDER", "OMPI_MCA_btl", "OMPI_MCA_pml",
    // launchers, devices
    "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PALS_RANKID", "FLUX_TASK_RANK", "JSM_NAMESPACE_SIZE",
    "MV2_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "CUDA_VISIBLE_DEVICES"};

std::string text_in(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The least grant of the control groups around this process; 0: none limits it.
double quota_here() {
  std::istringstream groups(text_in("/proc/self/cgroup"));
  std::string path;
  for (std::string line; std::getline(groups, line);)
    if (line.compare(0, 3, "0::") == 0) path = line.substr(3);
  double least = 0;
  for (fs::path at = path.empty() ? "/" : path;; at = at.parent_path()) {
    const double quota = quota_in(text_in("/sys/fs/cgroup" + at.string() + "/cpu.max"));
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    if (at == at.parent_path()) return least;
  }
}

bool has_entries(const char* folder) {
  std::error_code error;
  return fs::is_directory(folder, error) && !fs::is_empty(folder, error);
}

/// The word between brackets in "always [madvise] never".
std::string chosen_in(const std::string& text) {
  const auto begin = text.find('['), end = text.find(']');
  return begin < end && end != std::string::npos ? text.substr(begin + 1, end - begin - 1) : "";
}

std::vector<LimitFacts> limits_here() {
  struct Known {
    decltype(RLIMIT_NOFILE) resource;
    const char *name, *flag;
    i64 unit;
  };
  constexpr Known known[] = {{RLIMIT_NOFILE, "open files", "-n", 1},        {RLIMIT_STACK, "stack", "-s", 1024},
                             {RLIMIT_MEMLOCK, "locked memory", "-l", 1024}, {RLIMIT_NPROC, "processes", "-u", 1},
                             {RLIMIT_FSIZE, "file size", "-f", 1024},       {RLIMIT_AS, "addresses", "-v", 1024}};
  std::vector<LimitFacts> limits;
  for (const Known& one : known) {
    rlimit limit{};
    if (getrlimit(one.resource, &limit) != 0) continue;
    const auto value = [](rlim_t of) { return of == RLIM_INFINITY ? i64{-1} : static_cast<i64>(of); };
    limits.push_back({one.name, one.flag, value(limit.rlim_cur), value(limit.rlim_max), one.unit});
  }
  return limits;
}

bool clock_is_set() {
  timex clock{};
  return adjtimex(&clock) != TIME_ERROR || (clock.status & STA_UNSYNC) == 0;
}

StorageFacts shared_memory_here() {
  StorageFacts facts = writable_folder("/dev/shm");
  std::error_code error;
  if (!fs::is_directory("/dev/shm", error)) facts.error = "is not there";
  return facts;
}

/// How OpenBLAS computes on several threads; -1 where it is another library.
int library_threading() {
  using Ask = int();
  auto* const ask = reinterpret_cast<Ask*>(dlsym(RTLD_DEFAULT, "openblas_get_parallel"));
  return ask != nullptr ? ask() : -1;
}
}  // namespace

std::string device_in(const std::string& library) {
  const std::string name = "MPICH Device:";
  const auto at = library.find(name);
  if (at == std::string::npos) return "";
  std::istringstream rest(library.substr(at + name.size()));
  std::string device;
  rest >> device;
  return device;
}

double quota_in(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  double quota = 0, period = 0;
  return words >> quota >> period && period > 0 ? quota / period : 0;
}

RankFacts look_around(const MpiJob& job) {
  RankFacts facts;
  facts.rank = job.rank();
  facts.local_rank = job.local_rank();
  facts.host = job.host();
  const HostTopology& node = HostTopology::here();
  facts.cpus = node.process_cpus();
  facts.node_cpus = node.cpus();
  facts.processor = node.share_of(facts.cpus).processor;
  facts.quota = quota_here();
  getloadavg(&facts.load, 1);
  facts.crowding = job.crowding();
  facts.backend = build_info::backend;
  facts.waiting = describe_waiting();
  facts.spins = waiting_microseconds();
  facts.mpi = mpi_library();
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0, level = MPI_THREAD_SINGLE;
  MPI_Get_library_version(library, &length);
  facts.mpi_device = device_in(library);
  MPI_Query_thread(&level);
  facts.calls_from_threads = level == MPI_THREAD_MULTIPLE;
  for (const char* const name : variables)
    if (const char* const value = std::getenv(name)) facts.environment[name] = value;
  facts.has_fabric = has_entries("/sys/class/infiniband") || has_entries("/sys/class/cxi");
  facts.shared_memory = shared_memory_here();
  facts.limits = limits_here();
  facts.free_memory = free_host_memory();
  facts.huge_pages = chosen_in(text_in("/sys/kernel/mm/transparent_hugepage/enabled"));
  facts.clock_is_set = clock_is_set();
  return facts;
}

void look_at_machine(const Session& session, RankFacts& facts) {
  const MachineSpec& spec = session.group.spec();
  const int groups = session.processor->core_groups();
  facts.machine = spec.description;
  facts.vector_bytes = spec.simd_bytes;
  facts.has_devices = spec.name == "cuda";
  if (!facts.has_devices) facts.threads = spec.name == "openmp" ? groups * spec.cpes : groups;
  const std::string visible = facts.environment["CUDA_VISIBLE_DEVICES"];
  for (int i = 0; i < (facts.has_devices ? groups : 0); ++i) {
    const std::string text = session.processor->group(i).spec().description;
    const std::string device =
        text.substr(0, text.find(',')) + (visible.empty() ? "" : " of CUDA_VISIBLE_DEVICES=" + visible);
    if (std::find(facts.devices.begin(), facts.devices.end(), device) == facts.devices.end())
      facts.devices.push_back(device);
  }
  for (const auto& [name, version] : backend_software()) facts.software[name] = version;
  if (MatrixLibrary* const library = session.group.library()) {
    facts.matrix_library = library->name();
    facts.library_threading = facts.has_devices ? -1 : library_threading();
  } else {
    facts.why_no_library = session.group.why_no_library();
  }
}

}  // namespace cortado::doctor
