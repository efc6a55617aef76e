#pragma once
#include <mpi.h>

namespace cortado {

// Short collectives of few ranks, by non-blocking messages. Libraries make a schedule for every non-blocking
// collective, which takes longer than one of these. Each returns false, having done nothing, where the values or the
// ranks are too many.

/// Recursive doubling, for a power of two of ranks. All get the same bits.
bool short_all_reduce(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type,
                      MPI_Op operation);
/// Rank `root` sends to all.
bool short_broadcast(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type, int root);

}  // namespace cortado
