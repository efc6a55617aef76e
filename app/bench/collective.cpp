#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <vector>

#include "app/bench/bench.h"
#include "app/bench/contest.h"
#include "app/report/progress_bar.h"
#include "app/session/network_file.h"

namespace cortado {
namespace {

std::string text_of(const Network& n, const Topology& topology) {
  if (topology.ranks() == 1) return "One rank sends nothing: models with assumed constants.\n";
  const auto rate = [](double seconds_a_byte) {
    return seconds_a_byte > 0 ? fmt::format("{:.2f} GB/s", 1e-9 / seconds_a_byte) : std::string("no time");
  };
  return fmt::format("Models with {}; sums {}, copies {}, {:.2f} us to meet on a node.\n", describe(n, topology),
                     rate(n.byte_summed), rate(n.byte_in_memory), 1e6 * n.meeting);
}

/// True if `own` is as fast as the best, but for a tenth or for what the rounds differ by.
bool keeps_up(const Contestant::Spread& own, const Contestant::Spread& best) {
  return own.median <= 1.1 * best.median || own.least <= best.most;
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
  int root_ = 0;
  TopologyRules topology_;
};

void BenchCollective::add_own(Flags& flags) {
  flags.add("--sizes", sizes_, "Bytes; default 4 KB to 256 MB").not_negative();
  flags.add("--algorithms", algorithms_,
            "Some of them, separated by commas, of " + algorithm_names(kind_) + "; default all");
  if (kind_ != "allreduce")
    flags.add("--root", root_, "The rank with the sum, or the values").shows_default().not_negative();
  add_rounds(flags, rounds_);
  add_topology(flags, topology_);
}

void BenchCollective::measure(Session& session) {
  const std::vector<i64> sizes = sizes_or(sizes_, i64{256} << 20);
  Contest contest(session, topology_, sizes);
  JobTeam& job = contest.job();
  contest.set_root(root_);
  learn_collectives(session, job, topology_, true);
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
                 {"chunk", "chunk"},
                 {"radix", "k"},
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
  const JobShape shape = shape_of(job.topology());
  Report summary({{"size", "size"},
                  {"auto", "auto"},
                  {"auto_us", "slowest rank(us)", 1},
                  {"best", "best"},
                  {"best_us", "slowest rank(us)", 1},
                  {"of_best", "auto/best"},
                  {"spread", "spread(%)", 0},
                  {"keeps_up", "within 10 % or spread"}},
                 session.group.spec(), {});
  nlohmann::json choices = nlohmann::json::array();
  ProgressBar bar(kind_);
  i64 done = 0;
  for (const i64 bytes : sizes) {
    std::vector<Contestant> contestants;
    for (const Algorithm* const algorithm : algorithms) {
      contestants.push_back({with_settings(*algorithm, job.network(), shape, bytes)});
      contest.check(kind_, contestants.back().choice, bytes);
    }
    contest.measure(kind_, contestants, bytes, rounds_, i64{8} << 20);
    double library = 0;
    for (const Contestant& contestant : contestants)
      if (contestant.name() == "library") library = contestant.median().average;
    const CollectiveChoice chosen = job.choose(kind_, "auto", bytes);
    const Contestant *own = nullptr, *best = &contestants.front();
    for (const Contestant& contestant : contestants) {
      const Latency l = contestant.median();
      const bool is_chosen = contestant.choice.algorithm == chosen.algorithm;
      if (is_chosen) own = &contestant;
      if (contestant.slowest().median < best->slowest().median) best = &contestant;
      nlohmann::json row = {{"size", size_text(bytes)},
                            {"bytes", bytes},
                            {"algorithm", contestant.name()},
                            {"average_us", 1e6 * l.average},
                            {"least_us", 1e6 * l.least},
                            {"most_us", 1e6 * l.most},
                            {"gb_per_s", static_cast<double>(bytes) / std::max(1e-9, l.average) / 1e9},
                            {"model_us", 1e6 * contestant.choice.cost(job.network(), shape, bytes)},
                            {"chosen", is_chosen}};
      if (contestant.choice.algorithm->chunk) row["chunk"] = size_text(contestant.choice.chunk_bytes);
      if (contestant.choice.algorithm->has_radix) row["radix"] = contestant.choice.radix;
      if (library > 0) row["of_library"] = library / l.average;
      report.add(row);
    }
    if (own != nullptr) {
      const auto mine = own->slowest(), fastest = best->slowest();
      const nlohmann::json row = {{"size", size_text(bytes)},
                                  {"bytes", bytes},
                                  {"auto", own->name()},
                                  {"auto_us", 1e6 * mine.median},
                                  {"best", best->name()},
                                  {"best_us", 1e6 * fastest.median},
                                  {"of_best", mine.median / fastest.median},
                                  {"spread", 100 * (fastest.most - fastest.least) / fastest.median},
                                  {"keeps_up", keeps_up(mine, fastest)}};
      summary.add(row);
      choices.push_back(row);
    }
    if (session.job.rank() == 0) bar.show(++done, static_cast<i64>(sizes.size()));
  }
  report.summarize({{"auto", choices}});
  show(session, report,
       "\n" + summary.table() + "\n" + legend + job.topology().describe() + ". " +
           text_of(job.network(), job.topology()));
}

}  // namespace

std::unique_ptr<Verb> make_bench_allreduce() { return std::make_unique<BenchCollective>("allreduce"); }
std::unique_ptr<Verb> make_bench_reduce() { return std::make_unique<BenchCollective>("reduce"); }
std::unique_ptr<Verb> make_bench_broadcast() { return std::make_unique<BenchCollective>("broadcast"); }

}  // namespace cortado
