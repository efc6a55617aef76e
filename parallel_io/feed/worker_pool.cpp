#include "parallel_io/feed/worker_pool.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>

namespace cortado {
namespace {
cpu_set_t cpus_of_all_threads() {
  cpu_set_t all;
  CPU_ZERO(&all);
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    cpu_set_t own;
    const int id = std::atoi(task.path().filename().c_str());
    if (sched_getaffinity(id, sizeof own, &own) == 0) CPU_OR(&all, &all, &own);
  }
  return all;
}
}  // namespace

int process_cpus() {
  const cpu_set_t all = cpus_of_all_threads();
  return std::max(1, CPU_COUNT(&all));
}

void run_on_all_cpus() {
  const cpu_set_t all = cpus_of_all_threads();
  if (CPU_COUNT(&all) > 0) sched_setaffinity(0, sizeof all, &all);
}

WorkerPool::WorkerPool(int helpers) {
  for (int i = 0; i < helpers; ++i) threads_.emplace_back([this] { help(); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  begun_.notify_all();
  for (auto& thread : threads_) thread.join();
}

/// Works until nothing is left to begin. Holds the lock before and after.
void WorkerPool::take_part(std::unique_lock<std::mutex>& lock) {
  ++busy_;
  while (next_ < end_) {
    const i64 i = next_++;
    lock.unlock();
    try {
      (*work_)(i);
      lock.lock();
    } catch (...) {
      lock.lock();
      if (!failure_) failure_ = std::current_exception();
      next_ = end_;
    }
  }
  if (--busy_ == 0) ended_.notify_all();
}

void WorkerPool::help() {
  run_on_all_cpus();
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    begun_.wait(lock, [&] { return stopping_ || next_ < end_; });
    if (stopping_) return;
    take_part(lock);
  }
}

void WorkerPool::for_each(i64 n, const std::function<void(i64)>& work) {
  std::unique_lock<std::mutex> lock(mutex_);
  work_ = &work;
  next_ = 0;
  end_ = n;
  failure_ = nullptr;
  begun_.notify_all();
  take_part(lock);
  ended_.wait(lock, [&] { return busy_ == 0; });
  end_ = next_ = 0;
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace cortado
