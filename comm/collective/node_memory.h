#pragma once
#include <mpi.h>

#include <atomic>
#include <cstddef>

#include "core/base/types.h"

namespace cortado {

/// Copies `bytes` between a rank's own memory and memory that ranks share. It uses vectors. memcpy takes string moves
/// for long lines, which are three times slower on Zen 3 where another core holds the lines.
void copy_shared(const void* from, void* to, i64 bytes);

/// Memory that the ranks of a node share, and their meeting place. All ranks of a job make it collectively.
class NodeMemory {
 public:
  /// `node` is the number of this rank's node. Each of its ranks gets `slot_bytes`. They must be able to share memory.
  NodeMemory(MPI_Comm communicator, int node, i64 slot_bytes);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  int rank() const { return rank_; }  ///< among those of the node
  int size() const { return size_; }
  i64 slot_bytes() const { return slot_bytes_; }
  char* slot(int rank) const { return slots_ + rank * slot_bytes_; }
  /// The ranks with this rank's number on their nodes. It has a rank of every node only if is_even().
  MPI_Comm column() const { return column_; }
  bool is_even() const { return even_; }  ///< true if all nodes have equally many ranks
  /// True if ranks of some node share processors, so that waiting ranks must give their turns away. All ranks return
  /// the same.
  bool is_crowded() const { return crowded_; }

  /// Waits until all ranks of the node have called it. Their writes before it are visible then. Throws WaitError after
  /// the patience, naming `collective`, `step` and the missing ranks.
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
