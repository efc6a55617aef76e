#include "core/machine/free_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "core/base/memory_error.h"

namespace cortado {
namespace {
constexpr i64 unbounded = std::numeric_limits<i64>::max();

/// The number behind a word in a file of words; -1: it is not there.
i64 number_behind(const std::string& file, const std::string& wanted) {
  std::ifstream in(file);
  std::string word;
  i64 number = 0;
  while (in >> word)
    if (word == wanted) return in >> number ? number : -1;
  return -1;
}

/// The whole file; -1: there is none, or it says "max".
i64 number_in(const std::string& file) {
  std::ifstream in(file);
  i64 number = 0;
  return in >> number ? number : -1;
}

i64 left_in_system() {
  const i64 kilobytes = number_behind("/proc/meminfo", "MemAvailable:");
  return kilobytes >= 0 ? 1024 * kilobytes : unbounded;
}

/// The memory left to this process's control group and those around it.
i64 left_in_control_groups() {
  std::ifstream in("/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(in, line);)
    if (line.compare(0, 3, "0::") == 0) path = line.substr(3);
  i64 left = unbounded;
  while (!path.empty()) {
    const std::string folder = "/sys/fs/cgroup" + (path == "/" ? "" : path);
    const i64 most = number_in(folder + "/memory.max"), taken = number_in(folder + "/memory.current");
    // Pages of files that nobody has used lately go when memory is asked for.
    const i64 cached = std::max(i64{0}, number_behind(folder + "/memory.stat", "inactive_file"));
    if (most >= 0 && taken >= 0) left = std::min(left, std::max(i64{0}, most - taken + cached));
    const std::size_t slash = path.rfind('/');
    path = slash == std::string::npos || path == "/" ? "" : slash == 0 ? "/" : path.substr(0, slash);
  }
  return left;
}

i64 left_in_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unbounded;
  const i64 taken = number_behind("/proc/self/status", "VmSize:");
  return taken >= 0 ? std::max(i64{0}, static_cast<i64>(limit.rlim_cur) - 1024 * taken) : unbounded;
}
}  // namespace

i64 free_host_memory() { return std::min({left_in_system(), left_in_control_groups(), left_in_address_space()}); }

void require_memory(const std::string& where, std::size_t bytes) {
  constexpr std::size_t worth_asking = std::size_t{32} << 20;  // asking takes some 50 us
  if (bytes < worth_asking) return;
  const i64 left = free_host_memory();
  if (bytes > static_cast<std::size_t>(left))
    throw MemoryError(where, "cannot allocate " + megabytes_text(static_cast<double>(bytes)) + ": " +
                                 megabytes_text(static_cast<double>(left)) + " are free");
}

}  // namespace cortado
