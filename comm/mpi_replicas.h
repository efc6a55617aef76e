#pragma once
#include <mpi.h>

#include "core/net/replicas.h"

namespace cortado {

/// Replicas over an MPI communicator.
class MpiReplicas : public Replicas {
 public:
  explicit MpiReplicas(MPI_Comm communicator);
  int rank() const override;
  int size() const override;
  void sum(double* values, i64 count) const override;
  void maximum(i64* values, i64 count) const override;
  std::string from_root(const std::string& text) const override;
  void from_root(float* values, i64 count) const override;

 private:
  MPI_Comm communicator_;
};

}  // namespace cortado
