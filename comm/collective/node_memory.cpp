#include "comm/collective/node_memory.h"

#include <sched.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <string>

#include "core/base/error.h"

namespace cortado {

namespace {
/// That ranks of the node may run on, all together.
int cpus_of(MPI_Comm node) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  MPI_Allreduce(MPI_IN_PLACE, &cpus, sizeof cpus, MPI_BYTE, MPI_BOR, node);
  return CPU_COUNT(&cpus);
}
}  // namespace

void copy_shared(const void* from, void* to, i64 bytes) {
  using Vector = float __attribute__((vector_size(32)));
  constexpr i64 width = sizeof(Vector), line = 2 * width, ahead = 16 * line;
  const auto* x = static_cast<const char*>(from);
  auto* y = static_cast<char*>(to);
  for (; bytes >= line; bytes -= line, x += line, y += line) {
    __builtin_prefetch(x + ahead, 0);
    __builtin_prefetch(y + ahead, 1);  // stores wait their turn for lines of another core
    Vector low, high;
    std::memcpy(&low, x, width);
    std::memcpy(&high, x + width, width);
    asm volatile("" ::: "memory");  // or compilers may make a call of memcpy of the loop
    std::memcpy(y, &low, width);
    std::memcpy(y + width, &high, width);
  }
  if (bytes > 0) std::memcpy(y, x, static_cast<std::size_t>(bytes));
}

NodeMemory::NodeMemory(MPI_Comm communicator, int node, i64 slot_bytes) : slot_bytes_(slot_bytes) {
  int job_rank = 0;
  MPI_Comm_rank(communicator, &job_rank);
  MPI_Comm_split(communicator, node, job_rank, &node_);
  MPI_Comm_rank(node_, &rank_);
  MPI_Comm_size(node_, &size_);
  MPI_Comm_split(communicator, rank_, job_rank, &column_);
  int least[3] = {size_, -size_, cpus_of(node_) - size_};
  MPI_Allreduce(MPI_IN_PLACE, least, 3, MPI_INT, MPI_MIN, communicator);
  even_ = least[0] == -least[1];
  crowded_ = least[2] < 0;
  // One piece, the first rank's: places to meet, then the slots.
  const i64 meeting = static_cast<i64>(sizeof(Place)) * size_;
  const MPI_Aint bytes = rank_ == 0 ? meeting + slot_bytes * size_ + 4096 : 0;
  void* own = nullptr;
  MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node_, &own, &window_);
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  MPI_Win_shared_query(window_, 0, &size, &unit, &base);
  places_ = static_cast<Place*>(base);
  const auto after = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(meeting);
  slots_ = reinterpret_cast<char*>((after + 4095) / 4096 * 4096);
  places_[rank_].came.store(0);
  MPI_Barrier(node_);
}

NodeMemory::~NodeMemory() {
  // Freeing is collective: a rank that leaves because of an error would wait for ranks that do not come.
  if (std::uncaught_exceptions() > 0) return;
  MPI_Win_free(&window_);
  MPI_Comm_free(&column_);
  MPI_Comm_free(&node_);
}

void NodeMemory::meet(const char* collective, int step, double patience) {
  ++meetings_;
  places_[rank_].came.store(meetings_, std::memory_order_release);
  using Clock = std::chrono::steady_clock;
  Clock::time_point since;
  int turns = 0;
  constexpr int turns_before_yielding = 200;
  for (int other = 0; other < size_; ++other)
    while (places_[other].came.load(std::memory_order_acquire) < meetings_) {
      if (++turns < turns_before_yielding) continue;
      sched_yield();  // where ranks share cores, the one that is waited for needs them
      if (patience <= 0) continue;
      if (turns == turns_before_yielding) since = Clock::now();
      if (std::chrono::duration<double>(Clock::now() - since).count() > patience) {
        std::string missing;
        for (int r = 0; r < size_; ++r)
          if (places_[r].came.load() < meetings_) missing += (missing.empty() ? "" : ", ") + std::to_string(r);
        throw Error(std::string("collective '") + collective + "'",
                    "rank " + std::to_string(rank_) + " of this node waits in step " + std::to_string(step) +
                        " for rank " + missing + " of the node, which did not come for " +
                        std::to_string(static_cast<int>(patience)) + " s",
                    "see whether these ranks still run");
      }
    }
}

}  // namespace cortado
