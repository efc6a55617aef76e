#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>

#include "core/machine/core_group.h"

namespace cortado {

/// A GroupBarrier for `members` threads. After `abort` every waiting and every later member throws PeerError.
class AbortableBarrier : public GroupBarrier {
 public:
  explicit AbortableBarrier(int members) : members_(members) {}
  void arrive_and_wait() override;
  void abort();

 private:
  const int members_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool odd_round_ = false;
  bool aborted_ = false;
};

/// Runs work(member, barrier) for members 0..members-1, each on a thread of its own (member 0 on the caller's), and
/// returns when all have ended. The first exception is thrown again here; it aborts the barrier, and the PeerErrors
/// that follow from that are dropped. What backends build Processor::run from.
void run_on_threads(int members, const std::function<void(int member, GroupBarrier&)>& work);

}  // namespace cortado
