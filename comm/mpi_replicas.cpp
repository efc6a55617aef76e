#include "comm/mpi_replicas.h"

#include "comm/pieces.h"
#include "comm/wait/calls.h"

namespace cortado {

MpiReplicas::MpiReplicas(MPI_Comm communicator) : communicator_(communicator) {
  MPI_Comm_rank(communicator, &rank_);
  MPI_Comm_size(communicator, &size_);
}

void MpiReplicas::sum(double* values, i64 count) const {
  in_pieces(count, [&](i64 first, int n) {
    all_reduce(communicator_, "collective 'sum'", values + first, n, MPI_DOUBLE, MPI_SUM);
  });
}

void MpiReplicas::maximum(i64* values, i64 count) const {
  in_pieces(count, [&](i64 first, int n) {
    all_reduce(communicator_, "collective 'maximum'", values + first, n, MPI_INT64_T, MPI_MAX);
  });
}

std::string MpiReplicas::from_root(const std::string& text) const {
  i64 length = static_cast<i64>(text.size());
  broadcast(communicator_, "collective 'text of rank 0'", &length, 1, MPI_INT64_T);
  std::string result = text;
  result.resize(static_cast<std::size_t>(length));
  in_pieces(length, [&](i64 first, int n) {
    broadcast(communicator_, "collective 'text of rank 0'", &result[static_cast<std::size_t>(first)], n, MPI_CHAR);
  });
  return result;
}

void MpiReplicas::from_root(float* values, i64 count) const {
  in_pieces(count, [&](i64 first, int n) {
    broadcast(communicator_, "collective 'values of rank 0'", values + first, n, MPI_FLOAT);
  });
}

}  // namespace cortado
