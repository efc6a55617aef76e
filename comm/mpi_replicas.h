#pragma once
#include <mpi.h>

#include "core/net/replicas.h"

namespace cortado {

/// Replicas over an MPI communicator, which it borrows. Counts beyond MPI's int are sent in pieces.
class MpiReplicas : public Replicas {
 public:
  explicit MpiReplicas(MPI_Comm communicator);
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void sum(double* values, i64 count) const override;
  void maximum(i64* values, i64 count) const override;
  std::string from_root(const std::string& text) const override;
  void from_root(float* values, i64 count) const override;

  MPI_Comm communicator() const { return communicator_; }

 private:
  MPI_Comm communicator_;
  int rank_ = 0, size_ = 1;
};

}  // namespace cortado
