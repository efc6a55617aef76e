#pragma once
#include <mpi.h>

namespace cortado {

// Short collectives of few ranks, by non-blocking messages: libraries make a schedule for every non-blocking
// collective, which takes longer than these take altogether. Each returns false, having done nothing, where the values
// or the ranks are too many.

/// Recursive doubling: ranks that are a power of two. The same bits on all.
bool short_all_reduce(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type,
                      MPI_Op operation);
/// Rank 0 sends to all.
bool short_broadcast(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type);

}  // namespace cortado
