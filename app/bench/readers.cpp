#include "app/bench/readers.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/clock.h"

namespace cortado {
namespace {
/// The place where threads wait for each other.
class Gate {
 public:
  explicit Gate(int threads) : waiting_for_(threads) {}
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (--waiting_for_ == 0) open_.notify_all();
    open_.wait(lock, [&] { return waiting_for_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable open_;
  int waiting_for_;
};
}  // namespace

ReadingTimes run_readers(int readers, const Amount& amount, const Reading& reading,
                         const std::function<void()>& prepare) {
  Gate ready(readers), begin(readers);
  std::vector<ReadingTimes> timings(static_cast<std::size_t>(readers));
  std::vector<double> first(timings.size()), last(timings.size());
  const auto zero = Clock::now();
  std::vector<std::thread> threads;
  std::exception_ptr failure;
  std::mutex mutex;
  for (int t = 0; t < readers; ++t)
    threads.emplace_back([&, t] {
      ReadingTimes& own = timings[static_cast<std::size_t>(t)];
      std::shared_ptr<void> opened;
      std::vector<Values> values;
      try {
        auto at = Clock::now();
        opened = reading.open();
        own.open = seconds_since(at);
        reading.read(opened.get(), t % amount.batches, values);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        failure = std::current_exception();
      }
      ready.pass();
      if (t == 0) prepare();
      begin.pass();
      if (failure) return;
      first[static_cast<std::size_t>(t)] = seconds_since(zero);
      double now = first[static_cast<std::size_t>(t)];
      for (i64 b = t; b < amount.batches * amount.passes; b += readers) {
        if (own.transfers > 0 && now - first[static_cast<std::size_t>(t)] > amount.seconds) break;
        own.bytes += reading.read(opened.get(), b % amount.batches, values);
        const double then = std::exchange(now, seconds_since(zero));
        own.latency += now - then;
        ++own.transfers;
      }
      last[static_cast<std::size_t>(t)] = now;
      const auto at = Clock::now();
      opened.reset();
      own.close = seconds_since(at);
    });
  for (auto& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  ReadingTimes all;
  for (const ReadingTimes& one : timings) {
    all.open = std::max(all.open, one.open);
    all.close = std::max(all.close, one.close);
    all.latency += one.latency;
    all.bytes += one.bytes;
    all.transfers += one.transfers;
  }
  all.latency /= static_cast<double>(all.transfers);
  all.read = *std::max_element(last.begin(), last.end()) - *std::min_element(first.begin(), first.end());
  return all;
}

}  // namespace cortado
