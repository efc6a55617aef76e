#include "comm/wait/deadline.h"

#include <mpi.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "comm/wait/tell_launcher.h"
#include "core/base/log.h"

namespace cortado {
namespace {
using Clock = std::chrono::steady_clock;
double the_patience = 600;

/// Everything that ends this process unless it is released. Lives for ever, as its thread does.
class Deadlines {
 public:
  static Deadlines& all() {
    static auto* const instance = new Deadlines;
    return *instance;
  }

  std::uint64_t add(double seconds, std::string text) {
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!runs_) start();
    open_[++last_] = {end, std::move(text)};
    changed_.notify_all();
    return last_;
  }
  void release(std::uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(number);
  }

 private:
  struct Open {
    Clock::time_point end;
    std::string text;
  };

  void start() {
    // Signals are for the threads that can act on them.
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    std::thread([this] { watch(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    runs_ = true;
  }
  [[noreturn]] void watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      const Open* next = nullptr;
      for (const auto& [number, one] : open_)
        if (next == nullptr || one.end < next->end) next = &one;
      if (next == nullptr) {
        changed_.wait(lock);
      } else if (next->end > Clock::now()) {
        const auto end = next->end;  // the entry may go meanwhile
        changed_.wait_until(lock, end);
      } else {
        if (!next->text.empty()) CORTADO_LOG(error) << next->text;
        // MPI_Abort tells the launcher the exit code, but may wait for what hangs, as exit may.
        std::thread([] {
          std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until the launcher has passed the text on
          int runs = 0, has_ended = 0;
          MPI_Initialized(&runs);
          MPI_Finalized(&has_ended);
          // Hydra waits for ever for a host that has vanished before it has answered: ends in MPI_Init have to be told.
          if (runs == 0) tell_launcher("cmd=abort exitcode=1\n");
          if (runs != 0 && has_ended == 0) MPI_Abort(MPI_COMM_WORLD, 1);
        }).detach();
        std::this_thread::sleep_for(std::chrono::seconds(1));
        std::_Exit(1);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Open> open_;
  std::uint64_t last_ = 0;
  bool runs_ = false;
};
}  // namespace

double patience() { return the_patience; }
void set_patience(double seconds) { the_patience = seconds; }

Deadline::Deadline(double seconds, std::string text) {
  if (seconds > 0) number_ = Deadlines::all().add(seconds, std::move(text));
}

Deadline::~Deadline() {
  if (number_ > 0) Deadlines::all().release(number_);
}

void end_after(double seconds, std::string text) { Deadlines::all().add(seconds, std::move(text)); }

}  // namespace cortado
