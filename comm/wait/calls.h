#pragma once
#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace cortado {

// MPI's calls that wait for other ranks, each under the patience. No other file calls them: tests/arrows checks it.
// Collectives get `what` they are, "collective 'sum'", for errors. They run non-blocking inside and throw WaitError.
// Three differ: all_reduce, reduce and broadcast block on the main thread where a watchdog looks on, which ends the job
// itself. Where MPI has a blocking form alone, ranks meet before the call, and the call ends the process if it does not
// return.

void all_reduce(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type, MPI_Op operation);
/// Reduces to rank `root`; the others' values are undefined afterwards.
void reduce(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type, MPI_Op operation,
            int root = 0);
/// Sends the values of rank `root` to all.
void broadcast(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type, int root = 0);
/// Gathers `bytes` bytes of every rank, in order of ranks, on all.
void all_gather(MPI_Comm communicator, const char* what, const void* own, int bytes, void* all);
/// Gathers every rank's text, in order of ranks, on rank 0; the others get nothing.
std::vector<std::string> gather(MPI_Comm communicator, const char* what, const std::string& text);
void barrier(MPI_Comm communicator, const char* what);

MPI_Comm duplicate(MPI_Comm communicator);
/// The ranks of the same colour, in their order.
MPI_Comm split(MPI_Comm communicator, int colour);
/// The ranks that share memory, in their order.
MPI_Comm split_by_node(MPI_Comm communicator);
/// Allocates memory that the ranks of a node share, `bytes` for each. `own` is the beginning of this rank's memory.
MPI_Win allocate_shared(MPI_Comm node, MPI_Aint bytes, void*& own);
/// Release the communicator, or the window, in destructors. If other ranks do not come, they log it and end the job.
void release(MPI_Comm& communicator) noexcept;
/// `node` is the communicator of allocate_shared.
void release(MPI_Win& window, MPI_Comm node) noexcept;

/// Calls MPI_Init_thread, which may wait for ranks that do not start.
void start_library(int* count, char*** arguments, int wanted_threads);
/// Calls MPI_Finalize, and treats missing ranks as `release` does. All ranks meet before. If MPI_Finalize then takes
/// longer than 5 s, or half the patience, the process ends with `code`. Without a code it ends with 1 after the
/// patience.
void end_library(std::optional<int> code) noexcept;
/// Ends all ranks and does not return, even if MPI_Abort does.
[[noreturn]] void end_job(int code);

}  // namespace cortado
