#include "app/bench/contest.h"

#include <algorithm>

#include "comm/collective/messages.h"
#include "comm/wait/calls.h"
#include "core/base/error.h"

namespace cortado {
namespace {
constexpr double long_enough = 0.1;  // seconds of a round, on a slow network
}

std::vector<i64> sizes_or(const std::vector<i64>& given, i64 largest) {
  std::vector<i64> sizes = given;
  for (i64 bytes = 4096; given.empty() && bytes <= largest; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

/// "4K", "1M"
std::string size_text(i64 bytes) {
  if (bytes % (1 << 20) == 0 && bytes > 0) return std::to_string(bytes >> 20) + "M";
  if (bytes % 1024 == 0 && bytes > 0) return std::to_string(bytes >> 10) + "K";
  return std::to_string(bytes);
}

Latency Contestant::median() const {
  auto sorted = rounds;
  std::sort(sorted.begin(), sorted.end(), [](const Latency& a, const Latency& b) { return a.average < b.average; });
  return sorted[sorted.size() / 2];
}

Contestant::Spread Contestant::slowest() const {
  std::vector<double> sorted;
  for (const Latency& round : rounds) sorted.push_back(round.most);
  std::sort(sorted.begin(), sorted.end());
  return {sorted[sorted.size() / 2], sorted.front(), sorted.back()};
}

Contest::Contest(const Session& session, const TopologyRules& topology, const std::vector<i64>& sizes)
    : job_(session.job.replicas().communicator(), session.group, topology.places),
      values_(static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()) / 4)) {}

void Contest::measure(const std::string& collective, std::vector<Contestant>& contestants, i64 bytes, i64 rounds,
                      i64 bytes_a_round) {
  const i64 most_repeats = std::clamp<i64>(bytes_a_round / std::max<i64>(1, bytes), 1, 200);
  const HostValues values{values_.data(), bytes / 4, Precision::fp32};
  const bool gives = collective != "broadcast" || job_.team().rank() == root_;
  for (i64 round = 0; round < rounds; ++round)
    for (Contestant& contestant : contestants) {
      double seconds = 0;
      i64 repeats = most_repeats;
      for (i64 i = 0; i < repeats; ++i) {
        if (gives) std::fill_n(values_.begin(), values.count, static_cast<float>(i));
        meet(job_.team());
        const double begin = MPI_Wtime();
        job_.run(contestant.choice, values, root_);
        seconds += MPI_Wtime() - begin;
        if (i == 0 && repeats > 1)
          repeats = std::clamp(static_cast<i64>(long_enough / over_ranks(seconds).most), i64{1}, repeats);
      }
      contestant.rounds.push_back(over_ranks(seconds / static_cast<double>(repeats)));
    }
}

void Contest::check(const std::string& collective, const CollectiveChoice& choice, i64 bytes) {
  const i64 count = bytes / 4;
  const int rank = job_.team().rank(), ranks = job_.topology().ranks();
  for (i64 i = 0; i < count; ++i) values_[static_cast<std::size_t>(i)] = static_cast<float>((i + rank) % 5);
  job_.run(choice, {values_.data(), count, Precision::fp32}, root_);
  if (collective == "reduce" && rank != root_) return;
  const int first = collective == "broadcast" ? root_ : 0, end = collective == "broadcast" ? root_ + 1 : ranks;
  for (i64 i = 0; i < count; ++i) {
    float due = 0;
    for (int r = first; r < end; ++r) due += static_cast<float>((i + r) % 5);
    if (values_[static_cast<std::size_t>(i)] != due)
      throw BugError("collective '" + choice.algorithm->name + "'",
                     "gives a wrong result at " + std::to_string(bytes) + " bytes");
  }
}

void Contest::set_root(int root) {
  const int ranks = job_.topology().ranks();
  if (root >= ranks)
    throw ConfigError("command line", "--root " + std::to_string(root) + " is no rank of this job",
                      "its ranks are 0 to " + std::to_string(ranks - 1));
  root_ = root;
}

Latency Contest::over_ranks(double own) const {
  Latency latency{own, own, own};
  MPI_Comm const all = job_.team().communicator;
  all_reduce(all, "collective 'times'", &latency.average, 1, MPI_DOUBLE, MPI_SUM);
  all_reduce(all, "collective 'times'", &latency.least, 1, MPI_DOUBLE, MPI_MIN);
  all_reduce(all, "collective 'times'", &latency.most, 1, MPI_DOUBLE, MPI_MAX);
  latency.average /= job_.topology().ranks();
  return latency;
}

}  // namespace cortado
