#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace cortado {

/// Writes the files of a snapshot, at once or on a thread beside the caller. One thread uses it.
class SnapshotWriter {
 public:
  /// Works wait for `start` if they are done `beside` the caller.
  explicit SnapshotWriter(bool beside) : beside_(beside) {}
  ~SnapshotWriter() { join(); }
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  bool works_beside() const { return beside_; }
  /// Does the work now, and throws what it throws; or adds it to those that `start` begins.
  void add(std::function<void()> work);
  /// Begins the added works, in order, on a thread. The first that throws is the last. The works of the last start must
  /// have ended (`wait`).
  void start();
  /// True if a work on the thread has thrown what nobody has been told yet.
  bool has_failed() const { return failed_; }
  /// Waits for the thread, and forgets works that were not started. Throws what a work on the thread threw, once.
  void wait();
  /// Waits for the thread.
  void join();

 private:
  const bool beside_;
  std::vector<std::function<void()>> works_;
  std::thread thread_;
  std::exception_ptr failure_;  // the thread's until it ends
  std::atomic<bool> failed_{false};
};

}  // namespace cortado
