#include "app/tune/collectives.h"

#include <algorithm>

#include "app/bench/contest.h"
#include "app/report/progress_bar.h"
#include "app/report/report.h"
#include "app/tune/collective_rules.h"

namespace cortado {
namespace {

/// The settings worth trying for an algorithm: those of the model, and others.
std::vector<CollectiveChoice> settings_of(const Algorithm& algorithm, const JobTeam& job, i64 bytes) {
  std::vector<CollectiveChoice> choices(1, with_settings(algorithm, job.network(), shape_of(job.topology()), bytes));
  if (algorithm.chunk)
    for (const i64 chunk : {i64{64} << 10, i64{256} << 10, i64{1} << 20}) choices.push_back({&algorithm, chunk});
  if (algorithm.has_radix)
    for (const int radix : {2, 4, 8}) choices.push_back({&algorithm, choices[0].chunk_bytes, radix});
  return choices;
}

}  // namespace

void tune_collectives(const Session& session, const CollectiveTuning& how) {
  const std::vector<i64> sizes = sizes_or(how.sizes, i64{64} << 20);
  Contest contest(session, how.topology, sizes);
  JobTeam& job = contest.job();
  learn_collectives(session, job, how.topology, true);
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
      std::vector<Contestant> contestants;  // the library's last
      for (const Algorithm& algorithm : algorithms_of(collective))
        if (algorithm.why_not(job.team()).empty())
          for (const CollectiveChoice& choice : settings_of(algorithm, job, sizes[s])) contestants.push_back({choice});
      contest.measure(collective, contestants, sizes[s], how.iterations, i64{4} << 20);
      const auto best = std::min_element(contestants.begin(), contestants.end(), [](const auto& a, const auto& b) {
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
                  {"of_library", contestants.back().median().average / best->median().average}});
      if (session.job.rank() == 0)
        bar.show(static_cast<i64>(rules.size()), static_cast<i64>(collectives.size() * sizes.size()));
    }
  if (session.job.rank() == 0) write_rules(how.out, rules);
  show(report, session.job, "Wrote " + how.out + ", for " + job.topology().describe() + "\n", how.json);
}

}  // namespace cortado
