#include "comm/collective/node_memory.h"

#include <cstring>
#include <exception>
#include <vector>

#include "comm/node_cpus.h"
#include "comm/wait/calls.h"
#include "comm/wait/wait.h"

namespace cortado {

namespace {
/// That ranks of the node may run on, all together.
int count_cpus(MPI_Comm node) {
  CpuSet together;
  for (const CpuSet& cpus : cpus_of_ranks(node)) together |= cpus;
  return together.count();
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
  node_ = split(communicator, node);
  MPI_Comm_rank(node_, &rank_);
  MPI_Comm_size(node_, &size_);
  column_ = split(communicator, rank_);
  int least[3] = {size_, -size_, count_cpus(node_) - size_};
  all_reduce(communicator, "sizes of nodes", least, 3, MPI_INT, MPI_MIN);
  even_ = least[0] == -least[1];
  crowded_ = least[2] < 0;
  // One piece, the first rank's: places to meet, then the slots.
  const i64 meeting = static_cast<i64>(sizeof(Place)) * size_;
  const MPI_Aint bytes = rank_ == 0 ? meeting + slot_bytes * size_ + 4096 : 0;
  void* own = nullptr;
  window_ = allocate_shared(node_, bytes, own);
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  MPI_Win_shared_query(window_, 0, &size, &unit, &base);
  places_ = static_cast<Place*>(base);
  const auto after = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(meeting);
  slots_ = reinterpret_cast<char*>((after + 4095) / 4096 * 4096);
  places_[rank_].came.store(0);
  barrier(node_, "memory of the node");
}

NodeMemory::~NodeMemory() {
  // Freeing is collective: a rank that leaves because of an error would wait for ranks that do not come.
  if (std::uncaught_exceptions() > 0) return;
  release(window_, node_);
  release(column_);
  release(node_);
}

void NodeMemory::meet(const char* collective, int step) {
  ++meetings_;
  places_[rank_].came.store(meetings_, std::memory_order_release);
  constexpr int turns_before_yielding = 200;
  Wait wait(node_, collective, step, turns_before_yielding);
  const auto missing = [&] {
    std::vector<int> ranks;
    for (int r = 0; r < size_; ++r)
      if (places_[r].came.load() < meetings_) ranks.push_back(r);
    return ranks;
  };
  for (int other = 0; other < size_; ++other)
    while (places_[other].came.load(std::memory_order_acquire) < meetings_) wait.turn(missing);
}

}  // namespace cortado
