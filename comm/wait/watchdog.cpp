#include "comm/wait/watchdog.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "comm/wait/deadline.h"
#include "comm/wait/inquiry.h"

namespace cortado {
namespace {
Watchdog* the_watchdog = nullptr;

/// Between looks. Ranks that ask give others half a tenth of the patience to answer, and half a second at most.
std::chrono::duration<double> pause() {
  return std::chrono::duration<double>(std::clamp(patience() / 100, 0.005, 0.1));
}
}  // namespace

Watchdog::Watchdog(std::function<void(const std::string&)> give_up) : give_up_(std::move(give_up)) {
  // Signals are for the threads that can act on them.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  the_watchdog = this;
}

Watchdog::~Watchdog() {
  the_watchdog = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  end_.notify_all();
  thread_.join();
}

Watchdog* Watchdog::of_this_thread() {
  int is_main = 0;
  MPI_Is_thread_main(&is_main);
  return is_main != 0 ? the_watchdog : nullptr;
}

Watchdog::Watch::Watch(Watchdog& watchdog, MPI_Comm communicator, const char* what) : watchdog_(watchdog) {
  const std::lock_guard<std::mutex> lock(watchdog_.mutex_);
  watchdog_.communicator_ = communicator;
  watchdog_.what_ = what;
  ++watchdog_.number_;
}

Watchdog::Watch::~Watch() {
  const std::lock_guard<std::mutex> lock(watchdog_.mutex_);
  watchdog_.what_ = nullptr;
}

void Watchdog::run() {
  std::unique_lock<std::mutex> lock(mutex_);  // while it looks, the collective cannot end: its communicator stays
  std::optional<Inquiry> inquiry;
  for (std::uint64_t seen = 0; !ends_; end_.wait_for(lock, pause())) {
    if (what_ == nullptr) continue;
    if (number_ != seen) {  // short ones end before the next look, undisturbed
      seen = number_;
      inquiry.emplace(communicator_, what_, 0);
      inquiry->begin(Inquiry::Clock::now());
      continue;
    }
    try {
      inquiry->look({});
    } catch (const WaitError& error) { give_up_(error.what()); } catch (const PeerError&) {
    }  // what that wait threw ends the job
  }
}

}  // namespace cortado
