#include "comm/wait/wait.h"

#include <sched.h>

#include <atomic>
#include <thread>

#include "comm/wait/deadline.h"

namespace cortado {
namespace {
using namespace std::chrono_literals;
std::atomic<bool> has_processor{false};

bool is_main_thread() {
  int is_main = 0;
  MPI_Is_thread_main(&is_main);
  return is_main != 0;
}

}  // namespace

void own_processor(bool has_one) { has_processor = has_one; }

bool Wait::looks() {
  // Where ranks share processors, the one that is waited for needs them, and so do the threads that compute beside an
  // exchange; who waits long needs no microseconds.
  const auto now = Clock::now();
  if (turns_ == spins_ + 1) {
    begin_ = now;
    inquiry_.begin(now);
    next_look_ = now + 20ms;
    keeps_processor_ = has_processor && is_main_thread();
  }
  if (now - begin_ > 5s)
    std::this_thread::sleep_for(50us);
  else if (!keeps_processor_ || now - begin_ > 200us)
    sched_yield();
  if (has_moved_) {
    has_moved_ = false;
    inquiry_.moved(now);
  }
  if (now < next_look_ || patience() <= 0) return false;
  next_look_ = now + 20ms;
  return true;
}

void complete(MPI_Request& request, Wait& wait) {
  if (patience() <= 0) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return;
  }
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    wait.turn();
  }
}

}  // namespace cortado
