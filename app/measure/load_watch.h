#pragma once
#include <chrono>
#include <string>

namespace cortado {

/// Watches whether this process's threads get their processors. The system counts for every thread the time in which it
/// could have run and did not.
class LoadWatch {
 public:
  LoadWatch() : began_(Clock::now()), waited_(seconds_waited()) {}

  /// Logs a warning if in the last period a thread waited for a processor for more than `worth_telling` of the time. It
  /// does so once for each `period` seconds, and is cheap enough to call often.
  void look(double period = 30);
  /// The share of time for which the thread that waited most waited, since this was made, or since the last warning or
  /// period. It is 0 where the system does not count.
  double share() const;

  static constexpr double worth_telling = 0.25;

 private:
  using Clock = std::chrono::steady_clock;
  /// The seconds of the thread that waited most.
  static double seconds_waited();

  Clock::time_point began_;
  double waited_;
  int warnings_ = 0;
};

}  // namespace cortado
