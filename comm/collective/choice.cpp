#include "comm/collective/choice.h"

#include <algorithm>
#include <cmath>

#include "comm/collective/node_memory.h"

namespace cortado {
namespace {
/// Below this the library's few microseconds within a node are not to be beaten, where each rank has a processor: MPICH
/// waits busily, and keeps those that it waits for from running where they share one.
constexpr i64 worth_sharing = 16 * 1024;

bool fits_values(const CollectiveRule& rule, const std::string& collective, const Team& team, i64 bytes) {
  return rule.collective == collective && bytes >= rule.least_bytes &&
         (rule.most_bytes < 0 || bytes <= rule.most_bytes) &&
         find_algorithm(algorithms_of(collective), rule.algorithm).why_not(team).empty();
}

bool fits_job(const CollectiveRule& rule, const Topology& job) {
  return (rule.ranks == 0 || rule.ranks == job.ranks()) && (rule.nodes == 0 || rule.nodes == job.nodes());
}

/// True if the rule's job has as many ranks on a node.
bool has_such_nodes(const CollectiveRule& rule, const Topology& job) {
  return rule.ranks > 0 && (rule.nodes == 0 || i64{rule.ranks} * job.nodes() == i64{job.ranks()} * rule.nodes);
}

/// Between the values at the rules' ends, evenly in powers of two; `share` of the way. 0 stays.
double in_powers(double a, double b, double share) {
  return a <= 0 || b <= 0 ? 0 : std::exp2(std::log2(a) + share * (std::log2(b) - std::log2(a)));
}
}  // namespace

CollectiveChoice with_settings(const Algorithm& algorithm, const Network& network, const JobShape& job, i64 bytes) {
  CollectiveChoice best{&algorithm};
  if (algorithm.chunk) best.chunk_bytes = algorithm.chunk(network, job, bytes);
  if (!algorithm.has_radix) return best;
  const auto try_radix = [&](int radix) {
    CollectiveChoice other = best;
    other.radix = radix;
    if (other.cost(network, job, bytes) < best.cost(network, job, bytes)) best = other;
  };
  for (int radix = 3; radix <= 8 && radix < job.ranks; ++radix) try_radix(radix);
  if (job.ranks > 2) try_radix(job.ranks);
  return best;
}

CollectiveChoice choose_by_model(const std::string& collective, const Team& team, const Network& network, i64 bytes) {
  const std::vector<Algorithm>& all = algorithms_of(collective);
  if (team.topology->nodes() == 1) {
    const Algorithm& shared = find_algorithm(all, "two_level");
    const bool worth = shared.why_not(team).empty() && (bytes >= worth_sharing || team.node->is_crowded());
    return {worth ? &shared : &find_algorithm(all, "library")};
  }
  const JobShape job = shape_of(*team.topology);
  std::optional<CollectiveChoice> best;
  double least = 0;
  for (const Algorithm& algorithm : all) {
    if (!algorithm.why_not(team).empty()) continue;
    const CollectiveChoice choice = with_settings(algorithm, network, job, bytes);
    const double cost = choice.cost(network, job, bytes);
    if (best && cost >= least) continue;
    best = choice;
    least = cost;
  }
  return *best;  // the library's runs on any team
}

std::optional<CollectiveChoice> choose_by_rules(const std::vector<CollectiveRule>& rules, const std::string& collective,
                                                const Team& team, const Network& network, i64 bytes) {
  const Topology& job = *team.topology;
  const CollectiveRule *exact = nullptr, *below = nullptr, *above = nullptr;
  for (const CollectiveRule& rule : rules) {
    if (!fits_values(rule, collective, team, bytes)) continue;
    if (exact == nullptr && fits_job(rule, job)) exact = &rule;
    if (!has_such_nodes(rule, job)) continue;
    if (rule.ranks < job.ranks() && (below == nullptr || rule.ranks > below->ranks)) below = &rule;
    if (rule.ranks > job.ranks() && (above == nullptr || rule.ranks < above->ranks)) above = &rule;
  }
  CollectiveRule rule;
  if (exact != nullptr) {
    rule = *exact;
  } else {
    if (below == nullptr || above == nullptr) return std::nullopt;
    const double share = std::log2(static_cast<double>(job.ranks()) / below->ranks) /
                         std::log2(static_cast<double>(above->ranks) / below->ranks);
    rule = share <= 0.5 ? *below : *above;
    if (below->algorithm == above->algorithm) {
      const auto chunk = [](const CollectiveRule* of) { return static_cast<double>(of->chunk_bytes); };
      rule.chunk_bytes = std::llround(in_powers(chunk(below), chunk(above), share));
      rule.radix = static_cast<int>(std::lround(in_powers(below->radix, above->radix, share)));
    }
  }
  CollectiveChoice choice =
      with_settings(find_algorithm(algorithms_of(collective), rule.algorithm), network, shape_of(job), bytes);
  if (rule.chunk_bytes > 0) choice.chunk_bytes = rule.chunk_bytes;
  if (rule.radix > 0) choice.radix = rule.radix;
  return choice;
}

}  // namespace cortado
