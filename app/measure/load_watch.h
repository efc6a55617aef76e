#pragma once
#include <chrono>
#include <string>

namespace cortado {

/// Whether this process's threads get the processors that they want, by what the system counts of every thread: the
/// time in which it could have run and did not.
class LoadWatch {
 public:
  LoadWatch() : began_(Clock::now()), waited_(seconds_waited()) {}

  /// Logs a warning if in the last period a thread waited for a processor for more than `worth_telling` of the time,
  /// once for each `period` seconds. Cheap: call it often.
  void look(double period = 30);
  /// The share of the time since this was made, or since the last warning or period, in which the thread that waited
  /// most waited; 0 where the system does not count.
  double share() const;

  static constexpr double worth_telling = 0.25;

 private:
  using Clock = std::chrono::steady_clock;
  /// Of the thread that waited most.
  static double seconds_waited();

  Clock::time_point began_;
  double waited_;
  int warnings_ = 0;
};

}  // namespace cortado
