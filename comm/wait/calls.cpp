#include "comm/wait/calls.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "comm/wait/deadline.h"
#include "comm/wait/departure.h"
#include "comm/wait/short_collectives.h"
#include "comm/wait/wait.h"
#include "comm/wait/watchdog.h"
#include "core/base/log.h"

namespace cortado {
namespace {

/// For calls that MPI has in a blocking form alone.
template <class Call>
void guarded(MPI_Comm communicator, const char* what, Call call) {
  barrier(communicator, what);  // says who is missing
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const Deadline deadline(patience(), "rank " + std::to_string(rank) + ": " + what +
                                          ": waits for other ranks for too long: see whether they still run");
  call();
}

template <class Call>
void guarded_or_end(MPI_Comm communicator, const char* what, Call call) noexcept {
  try {
    guarded(communicator, what, call);
  } catch (const std::exception& error) {
    CORTADO_LOG(error) << error.what();
    end_job(1);
  }
}

/// Blocking under the watchdog where there is one, which libraries have more and faster ways for; begun and waited for
/// where there is none.
template <class Blocking, class Begin>
void run(MPI_Comm communicator, const char* what, Blocking blocking, Begin begin) {
  if (patience() <= 0) return blocking();
  if (Watchdog* const watchdog = Watchdog::of_this_thread()) {
    const Watchdog::Watch watch(*watchdog, communicator, what);
    return blocking();
  }
  MPI_Request request = MPI_REQUEST_NULL;
  begin(&request);
  Wait wait(communicator, what);
  complete(request, wait);
}

/// The rank in launchers' environments, before MPI can be asked.
std::string launched_rank() {
  for (const char* name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"})
    if (const char* const text = std::getenv(name)) return std::string("rank ") + text;
  return "a rank";
}
}  // namespace

void all_reduce(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type, MPI_Op operation) {
  if (patience() > 0 && short_all_reduce(communicator, what, values, count, type, operation)) return;
  run(
      communicator, what, [&] { MPI_Allreduce(MPI_IN_PLACE, values, count, type, operation, communicator); },
      [&](MPI_Request* request) {
        MPI_Iallreduce(MPI_IN_PLACE, values, count, type, operation, communicator, request);
      });
}

void reduce(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type, MPI_Op operation,
            int root) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  const void* from = rank == root ? MPI_IN_PLACE : values;
  std::vector<char> own;
  if (rank == root && root != 0) {  // where MPICH 4.0 reads from MPI_IN_PLACE as from an address
    int size = 0;
    MPI_Type_size(type, &size);
    const auto* const first = static_cast<const char*>(values);
    own.assign(first, first + static_cast<std::ptrdiff_t>(count) * size);
    from = own.data();
  }
  void* const to = rank == root ? values : nullptr;
  run(
      communicator, what, [&] { MPI_Reduce(from, to, count, type, operation, root, communicator); },
      [&](MPI_Request* request) { MPI_Ireduce(from, to, count, type, operation, root, communicator, request); });
}

void broadcast(MPI_Comm communicator, const char* what, void* values, int count, MPI_Datatype type, int root) {
  if (patience() > 0 && short_broadcast(communicator, what, values, count, type, root)) return;
  run(
      communicator, what, [&] { MPI_Bcast(values, count, type, root, communicator); },
      [&](MPI_Request* request) { MPI_Ibcast(values, count, type, root, communicator, request); });
}

void all_gather(MPI_Comm communicator, const char* what, const void* own, int bytes, void* all) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, communicator, &request);
  Wait wait(communicator, what);
  complete(request, wait);
}

std::vector<std::string> gather(MPI_Comm communicator, const char* what, const std::string& text) {
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const auto ranks = static_cast<std::size_t>(size);
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(ranks), starts(ranks + 1);
  all_gather(communicator, what, &length, sizeof length, lengths.data());
  for (std::size_t r = 0; r < ranks; ++r) starts[r + 1] = starts[r] + lengths[r];
  std::string all(rank == 0 ? static_cast<std::size_t>(starts[ranks]) : 0, ' ');
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Igatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0, communicator,
               &request);
  Wait wait(communicator, what);
  complete(request, wait);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < ranks && rank == 0; ++r)
    texts.push_back(all.substr(static_cast<std::size_t>(starts[r]), static_cast<std::size_t>(lengths[r])));
  return texts;
}

void barrier(MPI_Comm communicator, const char* what) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(communicator, &request);
  Wait wait(communicator, what);
  complete(request, wait);
}

MPI_Comm duplicate(MPI_Comm communicator) {
  MPI_Comm made = MPI_COMM_NULL;
  guarded(communicator, "MPI_Comm_dup", [&] { MPI_Comm_dup(communicator, &made); });
  return made;
}

MPI_Comm split(MPI_Comm communicator, int colour) {
  MPI_Comm made = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  guarded(communicator, "MPI_Comm_split", [&] { MPI_Comm_split(communicator, colour, rank, &made); });
  return made;
}

MPI_Comm split_by_node(MPI_Comm communicator) {
  MPI_Comm made = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  guarded(communicator, "MPI_Comm_split_type",
          [&] { MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &made); });
  return made;
}

MPI_Win allocate_shared(MPI_Comm node, MPI_Aint bytes, void*& own) {
  MPI_Win made = MPI_WIN_NULL;
  guarded(node, "MPI_Win_allocate_shared",
          [&] { MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node, static_cast<void*>(&own), &made); });
  return made;
}

void release(MPI_Comm& communicator) noexcept {
  guarded_or_end(communicator, "MPI_Comm_free", [&] { MPI_Comm_free(&communicator); });
}

void release(MPI_Win& window, MPI_Comm node) noexcept {
  guarded_or_end(node, "MPI_Win_free", [&] { MPI_Win_free(&window); });
}

void start_library(int* count, char*** arguments, int wanted_threads) {
  int provided = 0;
  const Deadline deadline(patience(), launched_rank() +
                                          ": MPI_Init waits for other ranks for too long: see whether "
                                          "all of them start");
  MPI_Init_thread(count, arguments, wanted_threads, &provided);
}

void end_library(std::optional<int> code) noexcept {
  guarded_or_end(MPI_COMM_WORLD, "MPI_Finalize", [&] {
    std::optional<Departure> departure;
    if (code && patience() > 0) departure.emplace(std::min(5.0, patience() / 2), *code);
    MPI_Finalize();
  });
}

void end_job(int code) {
  // Launchers may drop what they have not passed on when a job is aborted.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  end_after(2, "");
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

}  // namespace cortado
