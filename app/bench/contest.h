#pragma once
#include <string>
#include <vector>

#include "app/session/exchange.h"
#include "app/session/session.h"
#include "comm/job_team.h"

namespace cortado {

/// The sizes given; none: 4 KB and four times as much each time, up to `largest`.
std::vector<i64> sizes_or(const std::vector<i64>& given, i64 largest);

/// "4K", "1M"
std::string size_text(i64 bytes);

/// Seconds over ranks, as the OSU micro-benchmarks have them.
struct Latency {
  double average, least, most;
};

/// An algorithm with settings, and what its rounds took.
struct Contestant {
  CollectiveChoice choice;
  std::vector<Latency> rounds = {};

  Latency median() const;
  const std::string& name() const { return choice.algorithm->name; }
};

/// Measures collectives beside each other, on all ranks of a job.
class Contest {
 public:
  Contest(const Session& session, const TopologyFlags& topology, const std::vector<i64>& sizes);
  JobTeam& job() { return job_; }

  /// In turn, `rounds` times, each for about as long as `bytes_a_round` take. Each time begins after all ranks have met
  /// and those whose values count have just written them, as training does: reading what another processor has written
  /// takes longer than reading again what it has not touched since.
  void measure(const std::string& collective, std::vector<Contestant>& contestants, i64 bytes, i64 rounds,
               i64 bytes_a_round);

  /// Throws BugError unless it gives what it should; values are small whole numbers, so sums are exact.
  void check(const std::string& collective, const CollectiveChoice& choice, i64 bytes);

 private:
  Latency over_ranks(double own) const;

  JobTeam job_;
  std::vector<float> values_;
};

}  // namespace cortado
