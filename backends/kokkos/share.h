#pragma once
#include <atomic>
#include <cstdint>

#include "core/base/types.h"

namespace cortado::kokkos {

/// Items [first, end), in order.
class Interval {
 public:
  CORTADO_FN Interval(i64 first, i64 end) : next_(first), end_(end) {}
  CORTADO_FN bool next(i64& item) {
    if (next_ >= end_) return false;
    item = next_++;
    return true;
  }

 private:
  i64 next_, end_;
};

/// First of the items 0..n-1 that worker w begins with: contiguous shares, so that neighbours in memory meet in one
/// cache.
CORTADO_FN inline i64 first_of(i64 w, i64 workers, i64 n) { return n * w / workers; }

/// Lists of a launch whose shares others may take from; of later ones every worker does its own.
constexpr i64 shared_lists = 4;

/// The number of items of a worker's share that are taken. The lower half of the word counts those from its front,
/// taken by itself; the upper half those from its end, taken by others.
struct alignas(64) Taken {
  std::atomic<std::uint64_t> counts{0};
};

/// The items of 0..n-1 that a thread works on: its share and then, from their ends, what others have not come to. Cores
/// that are slower, or busy with something else, do less, and nobody waits for them.
class Share {
 public:
  /// `taken`: a word, zero at first, for each worker; null: it does its own share alone.
  Share(Taken* taken, i64 worker, i64 workers, i64 n)
      : own_(first_of(worker, workers, n), first_of(worker + 1, workers, n)),
        taken_(taken),
        worker_(worker),
        workers_(workers),
        n_(n),
        whose_(worker) {}

  bool next(i64& item) {
    if (taken_ == nullptr) return own_.next(item);
    while (!take(item)) {
      const i64 other = whose_ + 1 < workers_ ? whose_ + 1 : 0;
      if (other == worker_) return false;
      whose_ = other;
    }
    return true;
  }

 private:
  bool take(i64& item) {
    constexpr std::uint64_t of_front = 0xffffffff;
    const i64 first = first_of(whose_, workers_, n_), end = first_of(whose_ + 1, workers_, n_);
    std::atomic<std::uint64_t>& counts = taken_[whose_].counts;
    std::uint64_t before = counts.load(std::memory_order_relaxed);
    for (;;) {
      const i64 front = static_cast<i64>(before & of_front), back = static_cast<i64>(before >> 32);
      if (front + back >= end - first) return false;
      const bool own = whose_ == worker_;
      if (!counts.compare_exchange_weak(before, before + (own ? 1 : of_front + 1), std::memory_order_relaxed)) continue;
      item = own ? first + front : end - 1 - back;
      return true;
    }
  }

  Interval own_;
  Taken* taken_;
  i64 worker_, workers_, n_;
  i64 whose_;  ///< share that it takes from
};

}  // namespace cortado::kokkos
