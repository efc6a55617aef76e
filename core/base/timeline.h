#pragma once
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace cortado {

/// A record of a process's work and its times, in lanes ("core group 0", "exchange"), for people to look at and to add
/// up. Any thread may add to it.
class Timeline {
 public:
  using Clock = std::chrono::steady_clock;
  /// Times count from this call; all ranks make it at once.
  Timeline() : zero_(Clock::now()) {}

  struct Event {
    std::string lane, name;
    std::string kind;  ///< forward, backward, exchange, update, data, ...
    double begin, seconds;
  };
  void add(const std::string& lane, const std::string& name, const std::string& kind, Clock::time_point begin,
           Clock::time_point end);
  std::vector<Event> events() const;

 private:
  const Clock::time_point zero_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

/// Adds itself to a timeline when it ends; nullptr means no timeline.
class TimelineSpan {
 public:
  TimelineSpan(Timeline* timeline, std::string lane, std::string name, std::string kind)
      : timeline_(timeline), lane_(std::move(lane)), name_(std::move(name)), kind_(std::move(kind)) {}
  ~TimelineSpan() {
    if (timeline_ != nullptr) timeline_->add(lane_, name_, kind_, begin_, Timeline::Clock::now());
  }
  TimelineSpan(const TimelineSpan&) = delete;
  TimelineSpan& operator=(const TimelineSpan&) = delete;

 private:
  Timeline* const timeline_;
  const std::string lane_, name_, kind_;
  const Timeline::Clock::time_point begin_ = Timeline::Clock::now();
};

}  // namespace cortado
