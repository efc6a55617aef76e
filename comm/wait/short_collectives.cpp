#include "comm/wait/short_collectives.h"

#include <vector>

#include "comm/wait/wait.h"

namespace cortado {
namespace {
constexpr int tag = 7302, most_ranks = 8;
constexpr int most_bytes = 8192;

struct Call {
  Call(MPI_Comm communicator, int count, MPI_Datatype type) {
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    int each = 0;
    MPI_Type_size(type, &each);
    is_short = size <= most_ranks && count <= most_bytes / each;
  }
  int rank = 0, size = 1;
  bool is_short = false;
};

/// Waits for a message with that rank.
void complete_with(MPI_Comm communicator, const char* what, MPI_Request& request, int peer) {
  Wait wait(communicator, what);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    wait.turn([&] { return std::vector<int>(1, peer); });
  }
}
}  // namespace

bool short_all_reduce(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type,
                      MPI_Op operation) {
  const Call call(communicator, count, type);
  if (!call.is_short || (call.size & (call.size - 1)) != 0) return false;
  alignas(64) static thread_local char arrived[most_bytes];  // MPI may write into it after an error
  for (int distance = 1; distance < call.size; distance *= 2) {
    const int peer = call.rank ^ distance;
    MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
    MPI_Irecv(arrived, count, type, peer, tag, communicator, &in);
    MPI_Isend(values, count, type, peer, tag, communicator, &out);
    complete_with(communicator, what, in, peer);
    complete_with(communicator, what, out, peer);
    MPI_Reduce_local(arrived, values, count, type, operation);
  }
  return true;
}

bool short_broadcast(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type, int root) {
  const Call call(communicator, count, type);
  if (!call.is_short) return false;
  MPI_Request requests[most_ranks];
  if (call.rank != root) {
    MPI_Irecv(values, count, type, root, tag, communicator, requests);
    complete_with(communicator, what, requests[0], root);
    return true;
  }
  for (int peer = 0; peer < call.size; ++peer)
    if (peer != root) MPI_Isend(values, count, type, peer, tag, communicator, &requests[peer]);
  for (int peer = 0; peer < call.size; ++peer)
    if (peer != root) complete_with(communicator, what, requests[peer], peer);
  return true;
}

}  // namespace cortado
