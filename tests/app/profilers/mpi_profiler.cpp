// A profiler between a program and its MPI library: counts messages of at least 4 KB and their bytes, and tells at the
// end.
#include <mpi.h>

#include <cstdio>

namespace {
long messages = 0, bytes = 0;
}

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator,
                         MPI_Request* request) {
  int size = 0;
  PMPI_Type_size(type, &size);
  const long length = static_cast<long>(count) * size;
  if (length >= 4096) {
    ++messages;
    bytes += length;
  }
  return PMPI_Isend(data, count, type, to, tag, communicator, request);
}

extern "C" int MPI_Finalize() {
  std::fprintf(stderr, "mpi: %ld messages of %ld bytes\n", messages, bytes);
  return PMPI_Finalize();
}
