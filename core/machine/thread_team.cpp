#include "core/machine/thread_team.h"

#include <exception>
#include <thread>
#include <vector>

#include "core/base/error.h"

namespace cortado {

void AbortableBarrier::arrive_and_wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool round = odd_round_;
  if (!aborted_ && ++arrived_ == members_) {
    arrived_ = 0;
    odd_round_ = !odd_round_;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return aborted_ || odd_round_ != round; });
  // A round that was complete before the abort counts.
  if (odd_round_ == round) throw PeerError("", "another core group of this process failed");
}

void AbortableBarrier::abort() {
  const std::lock_guard<std::mutex> lock(mutex_);
  aborted_ = true;
  changed_.notify_all();
}

void run_on_threads(int members, const std::function<void(int member, GroupBarrier&)>& work) {
  AbortableBarrier barrier(members);
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&](int member) {
    try {
      work(member, barrier);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!first) first = std::current_exception();
      barrier.abort();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(members));
  for (int member = 1; member < members; ++member) threads.emplace_back(guarded, member);
  guarded(0);
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace cortado
