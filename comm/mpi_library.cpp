#include "comm/mpi_library.h"

#include <mpi.h>

#include <algorithm>

namespace cortado {

std::string library_line(const std::string& version) {
  std::string line = version.substr(0, version.find_first_of(std::string("\n\0", 2)));
  std::replace(line.begin(), line.end(), '\t', ' ');
  line.erase(std::unique(line.begin(), line.end(), [](char a, char b) { return a == ' ' && b == ' '; }), line.end());
  return line;
}

std::string mpi_library() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);
  return library_line(version);
}

}  // namespace cortado
