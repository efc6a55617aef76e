#pragma once
#include <mpi.h>

#include <string>
#include <vector>

namespace cortado {

// MPI's calls that wait for other ranks, each under the patience. No other file calls them: tests/arrows checks it.
// Collectives name `what` they are, "collective 'sum'". They run non-blocking inside and throw WaitError, but for
// three: all_reduce, reduce and broadcast block on the main thread where a watchdog looks on, which ends the job
// itself. Where MPI has a blocking form alone, the call begins after the ranks have met, and ends the process if it
// does not return.

void all_reduce(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type, MPI_Op operation);
/// To rank 0; what others have afterwards is not defined.
void reduce(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type, MPI_Op operation);
/// From rank 0.
void broadcast(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type);
/// Every rank's `bytes`, in order of ranks, on all.
void all_gather(MPI_Comm communicator, const char* what, const void* own, int bytes, void* all);
/// Every rank's text, in order of ranks, on rank 0; empty elsewhere.
std::vector<std::string> gather(MPI_Comm communicator, const char* what, const std::string& text);
void barrier(MPI_Comm communicator, const char* what);

MPI_Comm duplicate(MPI_Comm communicator);
/// Ranks of the same colour, in their order.
MPI_Comm split(MPI_Comm communicator, int colour);
/// Ranks that share memory, in their order.
MPI_Comm split_by_node(MPI_Comm communicator);
/// Memory that the ranks of a node share: `bytes` of each. `own` gets the beginning of this rank's.
MPI_Win allocate_shared(MPI_Comm node, MPI_Aint bytes, void*& own);
/// These two are for destructors: where others do not come, they log it and end the job.
void release(MPI_Comm& communicator) noexcept;
/// `node` is the communicator that it was made with.
void release(MPI_Win& window, MPI_Comm node) noexcept;

/// MPI_Init_thread, which may wait for ranks that do not start.
void start_library(int* count, char*** arguments, int wanted_threads);
/// MPI_Finalize. Like them.
void end_library() noexcept;
/// Ends all ranks and does not return, even if MPI_Abort should.
[[noreturn]] void end_job(int code);

}  // namespace cortado
