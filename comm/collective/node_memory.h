#pragma once
#include <mpi.h>

#include <atomic>
#include <cstddef>

#include "core/base/types.h"

namespace cortado {

/// Copies `bytes` between a rank's own memory and memory that ranks share. With vectors: the string moves that memcpy
/// takes for long lines are three times slower on Zen 3 where another core holds the lines.
void copy_shared(const void* from, void* to, i64 bytes);

/// Memory that the ranks of a node share, and where they meet. Made collectively by all ranks of a job.
class NodeMemory {
 public:
  /// `node` is the number of this rank's node; `slot_bytes` are for each of its ranks, who must be able to share
  /// memory.
  NodeMemory(MPI_Comm communicator, int node, i64 slot_bytes);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  int rank() const { return rank_; }  ///< among those of the node
  int size() const { return size_; }
  i64 slot_bytes() const { return slot_bytes_; }
  char* slot(int rank) const { return slots_ + rank * slot_bytes_; }
  /// Ranks with the same number on their nodes; all of them only where every node has as many ranks.
  MPI_Comm column() const { return column_; }
  bool is_even() const { return even_; }  ///< whether every node has as many ranks
  /// Whether ranks of some node share processors, so that who waits must give its turn away. The same on all ranks.
  bool is_crowded() const { return crowded_; }

  /// Returns when all ranks of the node have come. What they wrote before is then seen. A wait under the patience:
  /// throws WaitError naming `collective`, `step` and the ranks that are missing.
  void meet(const char* collective, int step);

 private:
  struct alignas(64) Place {
    std::atomic<std::int64_t> came;
  };
  MPI_Comm node_ = MPI_COMM_NULL, column_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  int rank_ = 0, size_ = 1;
  bool even_ = true, crowded_ = false;
  const i64 slot_bytes_;
  Place* places_ = nullptr;
  char* slots_ = nullptr;
  std::int64_t meetings_ = 0;
};

}  // namespace cortado
