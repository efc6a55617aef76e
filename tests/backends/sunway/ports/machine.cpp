#include "tests/backends/sunway/ports/machine.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

extern "C" {
#include <simd.h>
#include <slave.h>
}

namespace {

/// The longest that a CPE waits for another.
constexpr std::chrono::seconds patience(20);

struct Cpe {
  char* scratch = nullptr;  // where this thread's objects lie
  std::deque<doublev4> along_row, along_col;
};

std::mutex mutex;
std::condition_variable changed;
std::array<Cpe, port_cpes> cpes;
int waiting = 0;
long barriers = 0;
bool is_stuck = false;
thread_local int own_id = 0;

template <class Holds>
void wait_until(std::unique_lock<std::mutex>& lock, Holds holds) {
  if (changed.wait_for(lock, patience, [&] { return is_stuck || holds(); }) && !is_stuck) return;
  is_stuck = true;
  changed.notify_all();
  throw std::runtime_error("CPEs wait for each other in vain");
}

void barrier() {
  std::unique_lock<std::mutex> lock(mutex);
  const long mine = barriers;
  if (++waiting == port_cpes) {
    waiting = 0;
    ++barriers;
    changed.notify_all();
  } else {
    wait_until(lock, [&] { return barriers > mine; });
  }
}

[[maybe_unused]] Cpe& mate(int i, bool along_row) {
  const int row = own_id / port_mesh_cols, col = own_id % port_mesh_cols;
  return cpes[static_cast<std::size_t>(along_row ? row * port_mesh_cols + i : i * port_mesh_cols + col)];
}

}  // namespace

extern "C" {

int athread_get_id(int) { return own_id; }

#ifdef CORTADO_SUNWAY_PRO
static int broadcast(void* to, const void* from, std::size_t bytes, athread_rply_t* sent, athread_rply_t* came,
                     bool along_row) {
  const std::lock_guard<std::mutex> lock(mutex);
  const char* const base = cpes[static_cast<std::size_t>(own_id)].scratch;
  for (int i = 0; i < port_mesh_cols; ++i) {
    char* const there = mate(i, along_row).scratch;
    std::memcpy(there + (static_cast<char*>(to) - base), from, bytes);
    ++*reinterpret_cast<athread_rply_t*>(there + (reinterpret_cast<char*>(came) - base));
  }
  ++*sent;
  changed.notify_all();
  return 0;
}
int athread_rma_row_ibcast(void* to, void* from, std::size_t bytes, athread_rply_t* sent, athread_rply_t* came) {
  return broadcast(to, from, bytes, sent, came, true);
}
int athread_rma_col_ibcast(void* to, void* from, std::size_t bytes, athread_rply_t* sent, athread_rply_t* came) {
  return broadcast(to, from, bytes, sent, came, false);
}
int athread_rma_iput(void* from, athread_rply_t* sent, std::size_t bytes, int cpe, void* to, athread_rply_t* came) {
  const std::lock_guard<std::mutex> lock(mutex);
  const char* const base = cpes[static_cast<std::size_t>(own_id)].scratch;
  char* const there = cpes[static_cast<std::size_t>(cpe)].scratch;
  std::memcpy(there + (static_cast<char*>(to) - base), from, bytes);
  ++*reinterpret_cast<athread_rply_t*>(there + (reinterpret_cast<char*>(came) - base));
  ++*sent;
  changed.notify_all();
  return 0;
}
int athread_rma_wait_value(athread_rply_t* reply, int value) {
  std::unique_lock<std::mutex> lock(mutex);
  wait_until(lock, [&] { return *reply == value; });
  return 0;
}
int athread_ssync_array(void) {
  barrier();
  return 0;
}
int athread_dma_iget(void*, void*, std::size_t, athread_rply_t*) { return 1; }
int athread_dma_iput(void*, void*, std::size_t, athread_rply_t*) { return 1; }
int athread_dma_iget_stride(void*, void*, std::size_t, std::size_t, ssize_t, athread_rply_t*) { return 1; }
int athread_dma_iput_stride(void*, void*, std::size_t, std::size_t, ssize_t, athread_rply_t*) { return 1; }
int athread_dma_wait_value(athread_rply_t*, int) { return 1; }
#else
static void send(doublev4 value, bool along_row) {
  const std::lock_guard<std::mutex> lock(mutex);
  for (int i = 0; i < port_mesh_cols; ++i) {
    Cpe& to = mate(i, along_row);
    if (&to == &cpes[static_cast<std::size_t>(own_id)]) continue;
    (along_row ? to.along_row : to.along_col).push_back(value);
  }
  changed.notify_all();
}
static doublev4 receive(bool along_row) {
  std::unique_lock<std::mutex> lock(mutex);
  Cpe& me = cpes[static_cast<std::size_t>(own_id)];
  auto& fifo = along_row ? me.along_row : me.along_col;
  wait_until(lock, [&] { return !fifo.empty(); });
  const doublev4 value = fifo.front();
  fifo.pop_front();
  return value;
}
void simd_putr(doublev4 value, int) { send(value, true); }
void simd_putc(doublev4 value, int) { send(value, false); }
doublev4 simd_getr(doublev4) { return receive(true); }
doublev4 simd_getc(doublev4) { return receive(false); }
int athread_syn(scope, int) {
  barrier();
  return 0;
}
int athread_get(dma_mode, void*, void*, int, void*, char, int, int) { return 1; }
int athread_put(dma_mode, void*, void*, int, void*, int, int) { return 1; }
#endif

}  // extern "C"

namespace cortado::test {

void StandInMachine::run(const std::function<void()>& body) {
  waiting = 0, is_stuck = false;
  for (Cpe& cpe : cpes) cpe = Cpe();
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (int id = 0; id < port_cpes; ++id)
    threads.emplace_back([&, id] {
      own_id = id;
      cpes[static_cast<std::size_t>(id)].scratch = static_cast<char*>(port_scratch());
      try {
        barrier();
        body();
        barrier();
      } catch (const std::exception&) { failed = true; }
    });
  for (auto& thread : threads) thread.join();
  if (failed) throw std::runtime_error("CPEs wait for each other in vain");
  for (const Cpe& cpe : cpes)
    if (!cpe.along_row.empty() || !cpe.along_col.empty()) throw std::runtime_error("a message was never received");
}

}  // namespace cortado::test
