#pragma once
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/reference/processor.h"
#include "backends/reference/touched.h"

namespace cortado::reference {

/// Operations of several streams, done one at a time: those of a stream in order, others in any order that events
/// allow. Two operations that touch the same memory, one of them writing, must have an order; the queue reports a pair
/// that has none, whichever it happened to do first.
class WorkQueue {
 public:
  /// The number of operations that go before, by stream.
  using Clock = std::vector<i64>;

  struct Operation {
    std::string what;                            ///< for messages: "a copy of 400 bytes"
    std::function<void(Touched& touched)> work;  ///< takes down what it touches; may throw
    std::vector<Touched::Run> host;              ///< host memory that it touches
  };

  WorkQueue(Haste haste, std::uint64_t seed) : haste_(haste), seed_(seed) { make_stream(); }

  int make_stream();
  int streams() const { return static_cast<int>(streams_.size()); }

  void add(int stream, Operation operation);
  /// Operations added to `later` after this call go after those added to `earlier` before it.
  void order(int earlier, int later);
  /// The operations added to the stream so far, and those that go before them.
  Clock point(int stream) const;

  /// Does everything, or what goes before a point.
  void wait();
  void wait(const Clock& point);

  /// True if an operation that is still to be done touches host memory in conflict with that.
  bool is_due(const Touched::Run& host) const;

  /// The first failure of an operation, or of their order, since it was taken; null: none.
  std::exception_ptr take_failure() { return std::exchange(failure_, nullptr); }

 private:
  struct Due {
    Operation operation;
    i64 number;  // in its stream, from 1
    Clock after;
  };
  struct Lane {
    std::deque<Due> due;
    i64 added = 0, done = 0;
    Clock clock;  // what goes before the next operation
  };
  struct Access {
    Touched::Run run;
    int stream;
    i64 number;
    std::shared_ptr<const std::string> what;
  };

  Lane& lane(int stream) { return streams_.at(static_cast<std::size_t>(stream)); }
  const Lane& lane(int stream) const { return streams_.at(static_cast<std::size_t>(stream)); }
  void reach(int stream, i64 number);
  void do_next(int stream);
  void do_some();
  void check(int stream, const Due& due, const Touched& touched);
  void forget_ordered();
  int chosen(int of);

  const Haste haste_;
  const std::uint64_t seed_;
  std::uint64_t choices_ = 0;
  std::vector<Lane> streams_;
  Clock waited_for_;  // by the host
  std::vector<Access> accesses_;
  std::size_t many_ = 4096;  // accesses, before those that cannot conflict any more are forgotten
  std::exception_ptr failure_;
};

}  // namespace cortado::reference
