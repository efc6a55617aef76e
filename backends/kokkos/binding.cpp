#include "backends/kokkos/binding.h"

#include <sched.h>

#include <algorithm>
#include <vector>

#include "backends/kokkos/space.h"

namespace cortado::kokkos {
namespace {

/// The calling thread's CPUs as ranges, "0-3,8".
std::string own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "?";
  std::string text;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
    first = last;
  }
  return text;
}

}  // namespace

std::string describe_binding(int threads) {
  std::vector<std::string> cpus(static_cast<std::size_t>(threads));
  std::string* const of_thread = cpus.data();
  Kokkos::parallel_for("binding", Kokkos::RangePolicy<Kokkos::OpenMP>(0, threads, Kokkos::ChunkSize(1)),
                       [=](int i) { of_thread[i] = own_cpus(); });
  if (std::all_of(cpus.begin(), cpus.end(), [&](const std::string& c) { return c == cpus[0]; })) cpus.resize(1);
  std::string text = "on CPUs " + cpus[0];
  for (std::size_t i = 1; i < cpus.size(); ++i) text += "|" + cpus[i];
  return text;
}

}  // namespace cortado::kokkos
