#include <algorithm>
#include <cstdio>
#include <vector>

#include "app/bench/bench.h"
#include "app/report/progress_bar.h"
#include "app/tune/collective_rules.h"
#include "comm/collective/measure_network.h"
#include "comm/collective/messages.h"
#include "comm/job_team.h"
#include "comm/wait/calls.h"
#include "core/base/error.h"

namespace cortado {
namespace {

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

/// Seconds over ranks, as the OSU micro-benchmarks have them.
struct Latency {
  double average, least, most;
};

/// An algorithm with settings, and what its rounds took.
struct Candidate {
  CollectiveChoice choice;
  std::vector<Latency> rounds = {};
  Latency median() const {
    auto sorted = rounds;
    std::sort(sorted.begin(), sorted.end(), [](const Latency& a, const Latency& b) { return a.average < b.average; });
    return sorted[sorted.size() / 2];
  }
  const std::string& name() const { return choice.algorithm->name; }
};

/// Measures candidates beside each other.
class Contest {
 public:
  Contest(Session& session, const Options& options, const std::vector<i64>& sizes)
      : job_(session.job.replicas().communicator(), session.group, {options.topology, options.nodes_per_supernode}),
        values_(static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()) / 4)) {}
  JobTeam& job() { return job_; }

  /// In turn, `rounds` times, each for about as long as `bytes_a_round` take. Each time begins after all ranks have met
  /// and those whose values count have just written them, as training does: reading what another processor has written
  /// takes longer than reading again what it has not touched since.
  void measure(const std::string& collective, std::vector<Candidate>& candidates, i64 bytes, i64 rounds,
               i64 bytes_a_round) {
    const i64 repeats = std::clamp<i64>(bytes_a_round / std::max<i64>(1, bytes), 1, 200);
    const Span values{values_.data(), bytes / 4, Precision::fp32};
    const bool gives = collective != "broadcast" || job_.team().rank() == 0;
    for (i64 round = 0; round < rounds; ++round)
      for (Candidate& candidate : candidates) {
        double seconds = 0;
        for (i64 i = 0; i < repeats; ++i) {
          if (gives) std::fill_n(values_.begin(), values.count, static_cast<float>(i));
          meet(job_.team());
          const double begin = MPI_Wtime();
          job_.run(candidate.choice, values);
          seconds += MPI_Wtime() - begin;
        }
        candidate.rounds.push_back(over_ranks(seconds / static_cast<double>(repeats)));
      }
  }

  /// Throws BugError unless it gives what it should; values are small whole numbers, so sums are exact.
  void check(const std::string& collective, const CollectiveChoice& choice, i64 bytes) {
    const i64 count = bytes / 4;
    const int rank = job_.team().rank(), ranks = job_.topology().ranks();
    for (i64 i = 0; i < count; ++i) values_[static_cast<std::size_t>(i)] = static_cast<float>((i + rank) % 5);
    job_.run(choice, {values_.data(), count, Precision::fp32});
    if (collective == "reduce" && rank != 0) return;
    const int terms = collective == "broadcast" ? 1 : ranks;
    for (i64 i = 0; i < count; ++i) {
      float due = static_cast<float>(i % 5);
      for (int r = 1; r < terms; ++r) due += static_cast<float>((i + r) % 5);
      if (values_[static_cast<std::size_t>(i)] != due)
        throw BugError("collective '" + choice.algorithm->name + "'",
                       "gives a wrong result at " + std::to_string(bytes) + " bytes");
    }
  }

 private:
  Latency over_ranks(double own) const {
    Latency latency{own, own, own};
    MPI_Comm const all = job_.team().communicator;
    all_reduce(all, "collective 'times'", &latency.average, 1, MPI_DOUBLE, MPI_SUM);
    all_reduce(all, "collective 'times'", &latency.least, 1, MPI_DOUBLE, MPI_MIN);
    all_reduce(all, "collective 'times'", &latency.most, 1, MPI_DOUBLE, MPI_MAX);
    latency.average /= job_.topology().ranks();
    return latency;
  }

  JobTeam job_;
  std::vector<float> values_;
};

/// The settings worth trying for an algorithm.
std::vector<CollectiveChoice> settings_of(const Algorithm& algorithm) {
  std::vector<CollectiveChoice> choices(1, CollectiveChoice{&algorithm});
  if (algorithm.name.find("pipelined") != std::string::npos)
    for (const i64 chunk : {i64{64} << 10, i64{256} << 10}) choices.push_back({&algorithm, chunk});
  if (algorithm.name == "knomial")
    for (const int radix : {4, 8}) choices.push_back({&algorithm, choices[0].chunk_bytes, radix});
  return choices;
}

std::string text_of(const Network& n, int ranks) {
  if (ranks == 1) return "One rank sends nothing: models with assumed constants.\n";
  char text[240];
  std::snprintf(text, sizeof text,
                "Models with what was measured here: %.1f us a message, %.2f GB/s inside and %.2f across supernodes, "
                "sums %.2f GB/s, copies %.2f GB/s, %.2f us to meet on a node.\n",
                1e6 * n.latency, 1e-9 / n.byte_inside, 1e-9 / n.byte_across, 1e-9 / n.byte_summed,
                1e-9 / n.byte_in_memory, 1e6 * n.meeting);
  return text;
}

}  // namespace

void bench_collective(Session& session, const Options& options) {
  const auto& o = options.bench;
  const std::vector<i64> sizes = sizes_or(o.sizes, i64{256} << 20);
  Contest contest(session, options, sizes);
  JobTeam& job = contest.job();
  if (!options.rules.empty()) job.set_rules(read_rules(options.rules));
  for (const auto& name : o.algorithms) find_algorithm(algorithms_of(o.kind), name);
  std::vector<const Algorithm*> algorithms;
  std::string legend;
  for (const Algorithm& algorithm : algorithms_of(o.kind)) {
    if (!o.algorithms.empty() &&
        std::find(o.algorithms.begin(), o.algorithms.end(), algorithm.name) == o.algorithms.end())
      continue;
    const std::string problem = algorithm.why_not(job.team());
    if (problem.empty()) algorithms.push_back(&algorithm);
    legend += algorithm.name + (problem.empty() ? ": " + algorithm.what : " cannot run: " + problem) + "\n";
  }

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
  const Network network = measure_network(job.team());
  ProgressBar bar(o.kind);
  i64 done = 0;
  for (const i64 bytes : sizes) {
    std::vector<Candidate> candidates;
    for (const Algorithm* const algorithm : algorithms) {
      candidates.push_back({CollectiveChoice{algorithm}});
      contest.check(o.kind, candidates.back().choice, bytes);
    }
    contest.measure(o.kind, candidates, bytes, o.rounds, i64{8} << 20);
    double library = 0;
    for (const Candidate& candidate : candidates)
      if (candidate.name() == "library") library = candidate.median().average;
    const CollectiveChoice chosen = job.choose(o.kind, "auto", bytes);
    for (const Candidate& candidate : candidates) {
      const Latency l = candidate.median();
      nlohmann::json row = {{"size", size_text(bytes)},
                            {"bytes", bytes},
                            {"algorithm", candidate.name()},
                            {"average_us", 1e6 * l.average},
                            {"least_us", 1e6 * l.least},
                            {"most_us", 1e6 * l.most},
                            {"gb_per_s", static_cast<double>(bytes) / l.average / 1e9},
                            {"chosen", candidate.choice.algorithm == chosen.algorithm}};
      if (candidate.name() != "library")
        row["model_us"] = 1e6 * candidate.choice.algorithm->cost(network, shape_of(job.topology()), bytes,
                                                                 candidate.choice.chunk_bytes, candidate.choice.radix);
      if (library > 0) row["of_library"] = library / l.average;
      report.add(row);
    }
    if (session.job.rank() == 0) bar.show(++done, static_cast<i64>(sizes.size()));
  }
  finish(session, options, report,
         "\n" + legend + job.topology().describe() + ". " + text_of(network, job.topology().ranks()));
}

void tune_collectives(Session& session, const Options& options) {
  const std::vector<i64> sizes = sizes_or(options.bench.sizes, i64{64} << 20);
  Contest contest(session, options, sizes);
  JobTeam& job = contest.job();
  Report report({{"collective", "collective"},
                 {"size", "size"},
                 {"algorithm", "fastest"},
                 {"chunk", "chunk"},
                 {"radix", "k"},
                 {"average_us", "us", 1},
                 {"of_library", "library/this"}},
                session.group.spec(), {{"tune", "collectives"}, {"topology", job.topology().describe()}});
  std::vector<CollectiveRule> rules;
  ProgressBar bar("tuning");
  const std::vector<std::string> collectives = {"allreduce", "reduce", "broadcast"};
  for (const std::string& collective : collectives)
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      std::vector<Candidate> candidates;  // the library's last
      for (const Algorithm& algorithm : algorithms_of(collective))
        if (algorithm.why_not(job.team()).empty())
          for (const CollectiveChoice& choice : settings_of(algorithm)) candidates.push_back({choice});
      contest.measure(collective, candidates, sizes[s], options.tune.iterations, i64{4} << 20);
      const auto best = std::min_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
        return a.median().average < b.median().average;
      });
      // A rule reaches half way to the neighbouring sizes; the first and the last go on for ever.
      CollectiveRule rule;
      rule.collective = collective;
      rule.ranks = job.topology().ranks(), rule.nodes = job.topology().nodes();
      rule.least_bytes = s == 0 ? 0 : rules.back().most_bytes + 1;
      rule.most_bytes = s + 1 < sizes.size() ? (sizes[s] + sizes[s + 1]) / 2 : -1;
      rule.algorithm = best->name();
      rule.chunk_bytes = best->choice.chunk_bytes, rule.radix = best->choice.radix;
      rules.push_back(rule);
      report.add({{"collective", rule.collective},
                  {"size", size_text(sizes[s])},
                  {"algorithm", rule.algorithm},
                  {"chunk", size_text(rule.chunk_bytes)},
                  {"radix", rule.radix},
                  {"average_us", 1e6 * best->median().average},
                  {"of_library", candidates.back().median().average / best->median().average}});
      if (session.job.rank() == 0)
        bar.show(static_cast<i64>(rules.size()), static_cast<i64>(collectives.size() * sizes.size()));
    }
  const std::string out = options.tune.out.empty() ? "collectives.json" : options.tune.out;
  if (session.job.rank() == 0) write_rules(out, rules);
  finish(session, options, report, "Wrote " + out + ", for " + job.topology().describe() + "\n");
}

}  // namespace cortado
