#include "comm/mpi_replicas.h"

#include "comm/pieces.h"

namespace cortado {

MpiReplicas::MpiReplicas(MPI_Comm communicator) : communicator_(communicator) {
  MPI_Comm_rank(communicator, &rank_);
  MPI_Comm_size(communicator, &size_);
}

void MpiReplicas::sum(double* values, i64 count) const {
  in_pieces(count, [&](i64 first, int n) {
    MPI_Allreduce(MPI_IN_PLACE, values + first, n, MPI_DOUBLE, MPI_SUM, communicator_);
  });
}

void MpiReplicas::maximum(i64* values, i64 count) const {
  in_pieces(count, [&](i64 first, int n) {
    MPI_Allreduce(MPI_IN_PLACE, values + first, n, MPI_INT64_T, MPI_MAX, communicator_);
  });
}

std::string MpiReplicas::from_root(const std::string& text) const {
  i64 length = static_cast<i64>(text.size());
  MPI_Bcast(&length, 1, MPI_INT64_T, 0, communicator_);
  std::string result = text;
  result.resize(static_cast<std::size_t>(length));
  in_pieces(length, [&](i64 first, int n) {
    MPI_Bcast(&result[static_cast<std::size_t>(first)], n, MPI_CHAR, 0, communicator_);
  });
  return result;
}

void MpiReplicas::from_root(float* values, i64 count) const {
  in_pieces(count, [&](i64 first, int n) { MPI_Bcast(values + first, n, MPI_FLOAT, 0, communicator_); });
}

}  // namespace cortado
