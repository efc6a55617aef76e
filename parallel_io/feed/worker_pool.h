#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// Threads that help the caller with independent pieces of work.
class WorkerPool {
 public:
  /// `helpers` threads besides the caller; they may run on all CPUs of the process.
  explicit WorkerPool(int helpers);
  ~WorkerPool();

  /// Calls work(i) for all i in [0, n), in any order; throws the first exception. One thread may call it at a time.
  void for_each(i64 n, const std::function<void(i64)>& work);

 private:
  void help();
  void take_part(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  const std::function<void(i64)>* work_ = nullptr;
  i64 next_ = 0, end_ = 0;
  int busy_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

/// The number of CPUs on which some thread of this process may run. Threads that a runtime binds to one CPU each count
/// together.
int process_cpus();
/// Lets the calling thread run on all of them, though its creator may have been bound to fewer.
void run_on_all_cpus();

}  // namespace cortado
