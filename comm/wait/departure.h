#pragma once
#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace cortado {

/// Ends this process with `code` after that many seconds, unless it is destroyed before. It serves the end of MPI,
/// after all ranks have met: nothing is left to do then, and libraries are known whose MPI_Finalize never returns. Each
/// rank of the job has one, so that all leave. Launchers count this as a job that has ended by itself.
class Departure {
 public:
  /// The calling thread is the one that MPI_Finalize keeps.
  Departure(double seconds, int code);
  ~Departure();
  Departure(const Departure&) = delete;
  Departure& operator=(const Departure&) = delete;

 private:
  void wait(double seconds, int code);

  const pthread_t kept_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool has_returned_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace cortado
