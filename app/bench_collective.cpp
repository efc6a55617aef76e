#include <algorithm>
#include <cstdio>
#include <vector>

#include "app/bench.h"
#include "app/collective_rules.h"
#include "app/progress_bar.h"
#include "comm/job_team.h"
#include "core/base/error.h"

namespace cortado {
namespace {

std::vector<i64> sizes_or(const std::vector<i64>& given, i64 largest) {
  std::vector<i64> sizes = given;
  for (i64 bytes = 4096; given.empty() && bytes <= largest; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

/// Seconds of one run on this rank, all beginning together.
double time_once(const JobTeam& job, const Algorithm& algorithm, const Span& values, i64 repeats) {
  MPI_Barrier(job.team().communicator);
  const double begin = MPI_Wtime();
  for (i64 i = 0; i < repeats; ++i) algorithm.run(job.team(), values);
  return (MPI_Wtime() - begin) / static_cast<double>(repeats);
}

/// Over ranks, as the OSU micro-benchmarks have them.
struct Latency {
  double average, least, most;
};
Latency over_ranks(const JobTeam& job, double own) {
  Latency latency{own, own, own};
  MPI_Comm const all = job.team().communicator;
  MPI_Allreduce(MPI_IN_PLACE, &latency.average, 1, MPI_DOUBLE, MPI_SUM, all);
  MPI_Allreduce(MPI_IN_PLACE, &latency.least, 1, MPI_DOUBLE, MPI_MIN, all);
  MPI_Allreduce(MPI_IN_PLACE, &latency.most, 1, MPI_DOUBLE, MPI_MAX, all);
  latency.average /= job.topology().ranks();
  return latency;
}

/// Whether the collective gives what it should; values are small whole numbers, so sums are exact.
bool is_right(const JobTeam& job, const Algorithm& algorithm, bool sums, std::vector<float>& values, i64 count) {
  const int rank = job.team().rank(), ranks = job.topology().ranks();
  for (i64 i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>((i + rank) % 5);
  algorithm.run(job.team(), {values.data(), count, Precision::fp32});
  int right = 1;
  for (i64 i = 0; i < count && right == 1; ++i) {
    float due = static_cast<float>(i % 5);
    for (int r = 1; r < ranks && sums; ++r) due += static_cast<float>((i + r) % 5);
    if (values[static_cast<std::size_t>(i)] != due) right = 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, job.team().communicator);
  return right == 1;
}

struct Measured {
  const Algorithm* algorithm;
  std::vector<Latency> rounds;
  Latency median() const {
    auto sorted = rounds;
    std::sort(sorted.begin(), sorted.end(), [](const Latency& a, const Latency& b) { return a.average < b.average; });
    return sorted[sorted.size() / 2];
  }
};

/// "4K", "1M"
std::string size_text(i64 bytes) {
  if (bytes % (1 << 20) == 0 && bytes > 0) return std::to_string(bytes >> 20) + "M";
  if (bytes % 1024 == 0 && bytes > 0) return std::to_string(bytes >> 10) + "K";
  return std::to_string(bytes);
}

}  // namespace

void bench_collective(Session& session, const Options& options) {
  const auto& o = options.bench;
  const bool sums = o.kind == "allreduce";
  JobTeam job(session.job.replicas().communicator(), session.group, {options.topology, options.nodes_per_supernode},
              options.patience);
  if (!options.rules.empty()) job.set_rules(read_rules(options.rules));
  const auto& all = sums ? allreduce_algorithms() : broadcast_algorithms();
  std::vector<const Algorithm*> algorithms;
  std::string refused;
  for (const Algorithm& algorithm : all) {
    const bool wanted = o.algorithms.empty() ||
                        std::find(o.algorithms.begin(), o.algorithms.end(), algorithm.name) != o.algorithms.end();
    const std::string problem = algorithm.why_not(job.team());
    if (wanted && problem.empty()) algorithms.push_back(&algorithm);
    if (wanted && !problem.empty()) refused += algorithm.name + " cannot run: " + problem + "\n";
  }
  for (const auto& name : o.algorithms) find_algorithm(all, name);
  const std::vector<i64> sizes = sizes_or(o.sizes, i64{256} << 20);

  Report report({{"size", "size"},
                 {"algorithm", "algorithm"},
                 {"average_us", "avg(us)", 1},
                 {"least_us", "min(us)", 1},
                 {"most_us", "max(us)", 1},
                 {"gb_per_s", "GB/s"},
                 {"model_us", "model(us)", 1},
                 {"of_library", "library/this"},
                 {"chosen", "auto"}},
                session.group.spec(),
                {{"bench", o.kind},
                 {"ranks", job.topology().ranks()},
                 {"topology", job.topology().describe()},
                 {"rounds", o.rounds}});
  std::vector<float> values(static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()) / 4));
  ProgressBar bar(o.kind);
  i64 done = 0;
  for (const i64 bytes : sizes) {
    const i64 count = bytes / 4;
    const i64 repeats = std::clamp<i64>((i64{8} << 20) / std::max<i64>(1, bytes), 1, 200);
    std::vector<Measured> measured;
    for (const Algorithm* const algorithm : algorithms) {
      if (!is_right(job, *algorithm, sums, values, count))
        throw BugError("collective '" + algorithm->name + "'",
                       "gives a wrong result at " + std::to_string(bytes) + " bytes");
      measured.push_back({algorithm, {}});
    }
    for (i64 round = 0; round < o.rounds; ++round)
      for (Measured& m : measured) {
        std::fill_n(values.begin(), count, 0.0f);  // sums of sums stay numbers
        m.rounds.push_back(
            over_ranks(job, time_once(job, *m.algorithm, {values.data(), count, Precision::fp32}, repeats)));
      }
    double library = 0;
    for (const Measured& m : measured)
      if (m.algorithm->name == "library") library = m.median().average;
    const std::string chosen = (sums ? job.allreduce("auto", bytes) : job.broadcast("auto", bytes)).algorithm->name;
    for (const Measured& m : measured) {
      const Latency l = m.median();
      const double model =
          m.algorithm->cost(Network{}, shape_of(job.topology()), bytes, job.team().chunk_bytes, job.team().radix);
      nlohmann::json row = {{"size", size_text(bytes)},
                            {"bytes", bytes},
                            {"algorithm", m.algorithm->name},
                            {"average_us", 1e6 * l.average},
                            {"least_us", 1e6 * l.least},
                            {"most_us", 1e6 * l.most},
                            {"gb_per_s", static_cast<double>(bytes) / l.average / 1e9},
                            {"chosen", m.algorithm->name == chosen}};
      if (m.algorithm->name != "library") row["model_us"] = 1e6 * model;
      if (library > 0) row["of_library"] = library / l.average;
      report.add(row);
    }
    if (session.job.rank() == 0) bar.show(++done, static_cast<i64>(sizes.size()));
  }
  finish(
      session, options, report,
      refused + job.topology().describe() + ". Models assume " + "12 GB/s and 1 us between ranks, not this machine.\n");
}

/// Chunks are tried where algorithms have some.
void tune_collectives(Session& session, const Options& options) {
  JobTeam job(session.job.replicas().communicator(), session.group, {options.topology, options.nodes_per_supernode},
              options.patience);
  const std::vector<i64> sizes = sizes_or(options.bench.sizes, i64{64} << 20);
  std::vector<float> values(static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()) / 4));
  Report report({{"collective", "collective"},
                 {"size", "size"},
                 {"algorithm", "fastest"},
                 {"chunk", "chunk"},
                 {"average_us", "us", 1},
                 {"of_library", "library/this"}},
                session.group.spec(), {{"tune", "collectives"}, {"topology", job.topology().describe()}});
  std::vector<CollectiveRule> rules;
  ProgressBar bar("tuning");
  i64 done = 0;
  for (const bool sums : {true, false})
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      const i64 bytes = sizes[s], count = bytes / 4;
      const i64 repeats = std::clamp<i64>((i64{4} << 20) / std::max<i64>(1, bytes), 1, 100);
      struct Candidate {
        CollectiveChoice choice;
        std::vector<double> rounds;
        double median() const {
          auto sorted = rounds;
          std::sort(sorted.begin(), sorted.end());
          return sorted[sorted.size() / 2];
        }
      };
      std::vector<Candidate> candidates;
      for (const Algorithm& algorithm : sums ? allreduce_algorithms() : broadcast_algorithms()) {
        if (!algorithm.why_not(job.team()).empty()) continue;
        const bool chunks = algorithm.name.find("pipelined") != std::string::npos;
        for (const i64 chunk : chunks ? std::vector<i64>{64 << 10, 256 << 10, 1 << 20} : std::vector<i64>{1 << 20})
          candidates.push_back({{&algorithm, chunk}, {}});
      }
      for (i64 round = 0; round < options.tune.iterations; ++round)
        for (Candidate& candidate : candidates) {
          std::fill_n(values.begin(), count, 0.0f);
          job.team().chunk_bytes = candidate.choice.chunk_bytes;
          const double own =
              time_once(job, *candidate.choice.algorithm, {values.data(), count, Precision::fp32}, repeats);
          candidate.rounds.push_back(over_ranks(job, own).average);
        }
      const auto best = std::min_element(candidates.begin(), candidates.end(),
                                         [](const auto& a, const auto& b) { return a.median() < b.median(); });
      const CollectiveChoice& choice = best->choice;
      // Lengths between two that were measured go with the nearer one, by ratio.
      const i64 least = s == 0 ? 0 : rules.back().most_bytes + 1;
      const i64 most = s + 1 == sizes.size() ? -1 : 2 * bytes;
      rules.push_back({sums ? "allreduce" : "broadcast", job.topology().ranks(), job.topology().nodes(), least, most,
                       choice.algorithm->name, choice.chunk_bytes});
      report.add({{"collective", rules.back().collective},
                  {"size", size_text(bytes)},
                  {"algorithm", choice.algorithm->name},
                  {"chunk", size_text(choice.chunk_bytes)},
                  {"average_us", 1e6 * best->median()},
                  {"of_library", candidates.back().median() / best->median()}});
      if (session.job.rank() == 0) bar.show(++done, static_cast<i64>(2 * sizes.size()));
    }
  if (session.job.rank() == 0) write_rules(options.tune.out, rules);
  finish(session, options, report, "Wrote " + options.tune.out + ", for " + job.topology().describe() + "\n");
}

}  // namespace cortado
