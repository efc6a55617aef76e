#include "core/machine/group_barrier.h"

#include "core/base/error.h"

namespace cortado {

void AbortableBarrier::throw_if_aborted() const {
  if (aborted_) throw PeerError("", "another core group failed", "its own message says why");
}

void AbortableBarrier::arrive_and_wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  throw_if_aborted();
  const long round = round_;
  if (++waiting_ == members_) {
    waiting_ = 0;
    ++round_;
    changed_.notify_all();
    return;
  }
  changed_.wait(lock, [&] { return round_ != round || aborted_; });
  // Who passed the barrier before the abort did meet the others.
  if (round_ == round) throw_if_aborted();
}

void AbortableBarrier::abort() {
  const std::lock_guard<std::mutex> lock(mutex_);
  aborted_ = true;
  changed_.notify_all();
}

void GroupRun::member(const std::function<void(GroupBarrier&)>& work) noexcept {
  try {
    work(barrier_);
  } catch (...) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!first_) first_ = std::current_exception();
    }
    barrier_.abort();
  }
}

void GroupRun::finish() const {
  if (first_) std::rethrow_exception(first_);
}

}  // namespace cortado
