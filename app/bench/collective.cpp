#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <vector>

#include "app/bench/bench.h"
#include "app/bench/contest.h"
#include "app/report/progress_bar.h"
#include "comm/collective/measure_network.h"

namespace cortado {
namespace {

std::string text_of(const Network& n, int ranks) {
  if (ranks == 1) return "One rank sends nothing: models with assumed constants.\n";
  return fmt::format(
      "Models with what was measured here: {:.1f} us a message, {:.2f} GB/s inside and {:.2f} across supernodes, "
      "sums {:.2f} GB/s, copies {:.2f} GB/s, {:.2f} us to meet on a node.\n",
      1e6 * n.latency, 1e-9 / n.byte_inside, 1e-9 / n.byte_across, 1e-9 / n.byte_summed, 1e-9 / n.byte_in_memory,
      1e6 * n.meeting);
}

/// "allreduce", "reduce" or "broadcast".
class BenchCollective : public Bench {
 public:
  explicit BenchCollective(std::string kind) : kind_(std::move(kind)) {}

 private:
  void add_own(Flags& flags) override;
  void measure(Session& session) override;
  bool is_asked_for(const Algorithm& algorithm) const {
    return algorithms_.empty() ||
           std::find(algorithms_.begin(), algorithms_.end(), algorithm.name) != algorithms_.end();
  }

  const std::string kind_;
  std::vector<i64> sizes_;
  std::vector<std::string> algorithms_;  // empty: all
  i64 rounds_ = 5;
  TopologyRules topology_;
};

void BenchCollective::add_own(Flags& flags) {
  flags.add("--sizes", sizes_, "Bytes; default 4 KB to 256 MB").not_negative();
  flags.add("--algorithms", algorithms_,
            "Some of them, separated by commas, of " + algorithm_names(kind_) + "; default all");
  add_rounds(flags, rounds_);
  add_topology(flags, topology_);
}

void BenchCollective::measure(Session& session) {
  const std::vector<i64> sizes = sizes_or(sizes_, i64{256} << 20);
  Contest contest(session, topology_, sizes);
  JobTeam& job = contest.job();
  job.set_rules(topology_.read_rules());
  for (const auto& name : algorithms_) find_algorithm(algorithms_of(kind_), name);
  std::vector<const Algorithm*> algorithms;
  std::string legend;
  for (const Algorithm& algorithm : algorithms_of(kind_)) {
    if (!is_asked_for(algorithm)) continue;
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
                {{"bench", kind_},
                 {"ranks", job.topology().ranks()},
                 {"topology", job.topology().describe()},
                 {"rounds", rounds_}});
  const Network network = measure_network(job.team());
  ProgressBar bar(kind_);
  i64 done = 0;
  for (const i64 bytes : sizes) {
    std::vector<Contestant> contestants;
    for (const Algorithm* const algorithm : algorithms) {
      contestants.push_back({CollectiveChoice{algorithm}});
      contest.check(kind_, contestants.back().choice, bytes);
    }
    contest.measure(kind_, contestants, bytes, rounds_, i64{8} << 20);
    double library = 0;
    for (const Contestant& contestant : contestants)
      if (contestant.name() == "library") library = contestant.median().average;
    const CollectiveChoice chosen = job.choose(kind_, "auto", bytes);
    for (const Contestant& contestant : contestants) {
      const Latency l = contestant.median();
      nlohmann::json row = {{"size", size_text(bytes)},
                            {"bytes", bytes},
                            {"algorithm", contestant.name()},
                            {"average_us", 1e6 * l.average},
                            {"least_us", 1e6 * l.least},
                            {"most_us", 1e6 * l.most},
                            {"gb_per_s", static_cast<double>(bytes) / l.average / 1e9},
                            {"chosen", contestant.choice.algorithm == chosen.algorithm}};
      if (contestant.name() != "library")
        row["model_us"] =
            1e6 * contestant.choice.algorithm->cost(network, shape_of(job.topology()), bytes,
                                                    contestant.choice.chunk_bytes, contestant.choice.radix);
      if (library > 0) row["of_library"] = library / l.average;
      report.add(row);
    }
    if (session.job.rank() == 0) bar.show(++done, static_cast<i64>(sizes.size()));
  }
  show(session, report, "\n" + legend + job.topology().describe() + ". " + text_of(network, job.topology().ranks()));
}

}  // namespace

std::unique_ptr<Verb> make_bench_allreduce() { return std::make_unique<BenchCollective>("allreduce"); }
std::unique_ptr<Verb> make_bench_reduce() { return std::make_unique<BenchCollective>("reduce"); }
std::unique_ptr<Verb> make_bench_broadcast() { return std::make_unique<BenchCollective>("broadcast"); }

}  // namespace cortado
