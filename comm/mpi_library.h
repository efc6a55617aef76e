#pragma once
#include <string>

namespace cortado {

/// The first line of what an MPI library says of itself, with one space for tabs and rows of spaces. It ends at a null
/// character, which Open MPI counts.
std::string library_line(const std::string& version);
/// That of the library that answers this process's calls.
std::string mpi_library();

}  // namespace cortado
