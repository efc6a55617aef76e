#include "app/start/log_header.h"

#include <hdf5.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "app/build_info.h"
#include "comm/mpi_library.h"
#include "core/base/log.h"

namespace cortado {
std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return "HDF5 " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (std::string word : words) {
    if (word.empty() || word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                               "-_=+,./:@%") != std::string::npos) {
      for (std::size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4) word.replace(at, 1, "'\\''");
      word = "'" + word + "'";
    }
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

namespace {
/// The words of the command line.
std::vector<std::string> words_of(char** arguments) {
  std::vector<std::string> words;
  while (*arguments != nullptr) words.emplace_back(*arguments++);
  return words;
}

/// The variables by which OpenMP binds threads, all ranks' in the same way; empty: none is set.
std::string openmp_binds_by() {
  std::string names;
  for (const char* const name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    if (std::string(value) == "false") return "";
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

/// One warning for all nodes whose ranks crowd on a few CPUs.
void warn_of_crowding(const MpiJob& job) {
  const auto of_ranks =
      job.gather(job.local_rank() == 0 && !job.crowding().empty() ? job.host() + ": " + job.crowding() : "");
  const auto first = std::find_if(of_ranks.begin(), of_ranks.end(), [](const auto& text) { return !text.empty(); });
  if (first == of_ranks.end()) return;
  const auto others = std::count_if(first + 1, of_ranks.end(), [](const auto& text) { return !text.empty(); });
  CORTADO_LOG(warning) << *first << (others > 0 ? "; so on " + std::to_string(others) + " more nodes" : "") << ". "
                       << advice_on_crowding();
}
}  // namespace

std::string advice_on_crowding() {
  const std::string variables = openmp_binds_by();
  return (variables.empty() ? "Let the launcher give each rank CPUs of its own"
                            : "Unset " + variables + ", or let the launcher bind ranks before OpenMP") +
         ": mpiexec -bind-to core:N (MPICH), mpirun --map-by slot:PE=N (Open MPI), srun -c N --cpu-bind=cores";
}

void log_header(const MpiJob& job, char** arguments) {
  using namespace build_info;
  const std::string of_kokkos = *build_info::kokkos != '\0' ? std::string(", Kokkos ") + build_info::kokkos : "";
  CORTADO_LOG(info) << "Cortado " << version << " (" << commit << "), " << compiler << " " << type << ", backend "
                    << backend << "; " << mpi_library() << ", " << hdf5_version() << of_kokkos;
  CORTADO_LOG(info) << "Command: " << command_text(words_of(arguments)) << (job.size() > 1 ? ", " : "")
                    << (job.size() > 1 ? std::to_string(job.size()) + " ranks" : "");
  if (job.size() > 1) warn_of_crowding(job);
}

}  // namespace cortado
