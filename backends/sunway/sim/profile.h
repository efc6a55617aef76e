#pragma once
#include <string>
#include <vector>

#include "backends/sunway/sim/machine.h"

namespace cortado::sunway::sim {

/// The launches of one core group, for a table by kernel and a timeline.
class Profile {
 public:
  void add(const LaunchProfile& launch) { launches_.push_back(launch); }
  const std::vector<LaunchProfile>& launches() const { return launches_; }

  /// One row per kernel: launches, seconds, share of compute, transfer, message and idle cycles, bytes, GB/s, Gflop/s
  /// and share of the peak; the longest first.
  std::string table(const Costs& costs, double peak_flops) const;

 private:
  std::vector<LaunchProfile> launches_;
};

/// Writes the launches of all core groups as a trace-event file (Perfetto, chrome://tracing), a row for each group.
/// Throws FileError.
void write_timeline(const std::string& file, const std::vector<const Profile*>& groups, const Costs& costs);

}  // namespace cortado::sunway::sim
