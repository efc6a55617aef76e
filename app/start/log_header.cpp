#include "app/start/log_header.h"

#include <hdf5.h>
#include <mpi.h>

#include <algorithm>
#include <string>

#include "app/build_info.h"
#include "core/base/log.h"

namespace cortado {
namespace {
std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string line(text, std::find(text, text + length, '\n'));
  std::replace(line.begin(), line.end(), '\t', ' ');
  line.erase(std::unique(line.begin(), line.end(), [](char a, char b) { return a == ' ' && b == ' '; }), line.end());
  return line;
}

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return "HDF5 " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

/// The command line in the form that a shell takes.
std::string command_line(char** arguments) {
  std::string text;
  for (char** argument = arguments; *argument != nullptr; ++argument) {
    std::string word = *argument;
    if (word.empty() || word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                               "-_=+,./:@%") != std::string::npos) {
      for (std::size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4) word.replace(at, 1, "'\\''");
      word = "'" + word + "'";
    }
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}
}  // namespace

void log_header(const MpiJob& job, char** arguments) {
  using namespace build_info;
  const std::string of_kokkos = *build_info::kokkos != '\0' ? std::string(", Kokkos ") + build_info::kokkos : "";
  CORTADO_LOG(info) << "Cortado " << version << " (" << commit << "), " << compiler << " " << type << ", backend "
                    << backend << "; " << mpi_version() << ", " << hdf5_version() << of_kokkos;
  CORTADO_LOG(info) << "Command: " << command_line(arguments) << (job.size() > 1 ? ", " : "")
                    << (job.size() > 1 ? std::to_string(job.size()) + " ranks" : "");
}

}  // namespace cortado
