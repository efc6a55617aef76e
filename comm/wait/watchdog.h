#pragma once
#include <mpi.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace cortado {

/// Watches the main thread while it is inside a collective of the MPI library that blocks. It answers other ranks in
/// its place, warns, and ends the job as Wait does. It has a thread, which sleeps but for a moment every tenth of a
/// second at most. MPI must allow it (MPI_THREAD_MULTIPLE).
class Watchdog {
 public:
  /// A process makes one at most. All ranks of the job have one, or none has: ranks with one call other functions of
  /// MPI. `give_up` gets the error, on the watchdog's thread, and ends the job.
  explicit Watchdog(std::function<void(const std::string&)> give_up);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The process's watchdog on the main thread. nullptr means that this is another thread, or that there is no
  /// watchdog.
  static Watchdog* of_this_thread();

  /// A collective runs while it lives. `what` must outlive it.
  class Watch {
   public:
    Watch(Watchdog& watchdog, MPI_Comm communicator, const char* what);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Watchdog& watchdog_;
  };

 private:
  void run();

  const std::function<void(const std::string&)> give_up_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ends_ = false;
  // The main thread's collective.
  MPI_Comm communicator_ = MPI_COMM_NULL;
  const char* what_ = nullptr;  // nullptr means that none runs
  std::uint64_t number_ = 0;
  std::thread thread_;  // last: it uses the others
};

}  // namespace cortado
