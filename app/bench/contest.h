#pragma once
#include <string>
#include <vector>

#include "app/session/exchange.h"
#include "app/session/session.h"
#include "comm/job_team.h"

namespace cortado {

/// The given sizes. If there are none: 4 KB and four times as much each time, up to `largest`.
std::vector<i64> sizes_or(const std::vector<i64>& given, i64 largest);

/// "4K", "1M"
std::string size_text(i64 bytes);

/// Seconds over ranks, as in the OSU micro-benchmarks.
struct Latency {
  double average, least, most;
};

/// An algorithm with settings, and the times of its rounds.
struct Contestant {
  CollectiveChoice choice;
  std::vector<Latency> rounds = {};

  Latency median() const;
  /// The slowest rank's seconds: the median, the least and the most of the rounds.
  struct Spread {
    double median, least, most;
  };
  Spread slowest() const;
  const std::string& name() const { return choice.algorithm->name; }
};

/// Measures collectives beside each other, on all ranks of a job.
class Contest {
 public:
  Contest(const Session& session, const TopologyRules& topology, const std::vector<i64>& sizes);
  JobTeam& job() { return job_; }
  /// The root of reduces and broadcasts from now on. Throws ConfigError for a rank that the job does not have.
  void set_root(int root);

  /// Runs the contestants in turn, `rounds` times, each for about as long as `bytes_a_round` take. Each time begins
  /// after all ranks have met, and the ranks whose values count have just written them, as training does. Reading
  /// values that another processor has written takes longer than reading untouched ones again.
  void measure(const std::string& collective, std::vector<Contestant>& contestants, i64 bytes, i64 rounds,
               i64 bytes_a_round);

  /// Throws BugError unless the collective's result is right; values are small whole numbers, so sums are exact.
  void check(const std::string& collective, const CollectiveChoice& choice, i64 bytes);

 private:
  Latency over_ranks(double own) const;

  JobTeam job_;
  std::vector<float> values_;
  int root_ = 0;
};

}  // namespace cortado
