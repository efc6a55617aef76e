#include "comm/wait/departure.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "comm/wait/tell_launcher.h"
#include "core/base/log.h"

namespace cortado {
namespace {
using namespace std::chrono_literals;

extern "C" void stay(int) {
  for (;;) pause();
}

/// A rank that leaves closes its connections, and MPI_Finalize of others would go on where this one can no longer
/// follow. Launchers take that for a fault.
void stop(pthread_t thread) {
  struct sigaction action = {};
  action.sa_handler = stay;
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR2, &action, nullptr);
  pthread_kill(thread, SIGUSR2);
}
}  // namespace

Departure::Departure(double seconds, int code) : kept_(pthread_self()) {
  // Signals are for the threads that can act on them.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  thread_ = std::thread([this, seconds, code] { wait(seconds, code); });
  sigdelset(&before, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Departure::~Departure() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_returned_ = true;
  }
  end_.notify_all();
  thread_.join();
}

void Departure::wait(double seconds, int code) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (end_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return has_returned_; })) return;
  CORTADO_LOG(warning) << "MPI_Finalize has not returned for " << seconds
                       << " s. All ranks have done their work: they leave without it";
  stop(kept_);
  std::this_thread::sleep_for(500ms);  // until all ranks are here
  tell_launcher("cmd=finalize\n");     // Hydra kills the others on a host where one leaves without this
  std::cout.flush();
  std::fflush(nullptr);
  std::this_thread::sleep_for(200ms);  // until launchers have heard all
  std::_Exit(code);
}

}  // namespace cortado
