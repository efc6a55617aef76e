#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>

#include "core/machine/core_group.h"

namespace cortado {

/// A reusable barrier of `members` threads that sleep while they wait.
class AbortableBarrier : public GroupBarrier {
 public:
  explicit AbortableBarrier(int members) : members_(members) {}

  /// Throws PeerError once the barrier is aborted, at once and for ever.
  void arrive_and_wait() override;
  void abort();

 private:
  void throw_if_aborted() const;

  const int members_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  long round_ = 0;
  bool aborted_ = false;
};

/// The frame of Processor::run around each core group's work, whichever way a backend makes its threads.
class GroupRun {
 public:
  explicit GroupRun(int members) : barrier_(members) {}

  /// Runs the work of one member on the calling thread; never throws.
  void member(const std::function<void(GroupBarrier&)>& work) noexcept;
  /// To be called when all members have ended: throws the first exception again, if there was one.
  void finish() const;

 private:
  AbortableBarrier barrier_;
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace cortado
