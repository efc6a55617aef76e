#include "app/doctor/checks.h"

#include <algorithm>

#include "core/base/memory_error.h"

namespace cortado::doctor {

const std::vector<TopicCheck>& topic_checks() {
  static const std::vector<TopicCheck> checks = {{"waiting", check_waiting},
                                                 {"binding", check_binding},
                                                 {"oversubscription", check_oversubscription},
                                                 {"ranks", check_launch},
                                                 {"MPI", check_mpi},
                                                 {"messages", check_messages},
                                                 {"shared memory", check_shared_memory},
                                                 {"machine", check_machine},
                                                 {"matrix library", check_matrix_library},
                                                 {"memory", check_memory},
                                                 {"limits", check_limits},
                                                 {"clocks", check_clocks},
                                                 {"solver", check_solver},
                                                 {"tuning", check_tuning},
                                                 {"data", check_sets},
                                                 {"striping", check_striping},
                                                 {"snapshots", check_snapshots}};
  return checks;
}

std::vector<Finding> examine(const JobFacts& job) {
  std::vector<Finding> all;
  for (const TopicCheck& topic : topic_checks())
    for (Finding& one : topic.check(job)) {
      one.topic = topic.topic;
      all.push_back(std::move(one));
    }
  return all;
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(ranks[last]);
    i = last;
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

std::vector<std::pair<std::string, std::vector<int>>> texts_of_ranks(
    const JobFacts& job, const std::function<std::string(const RankFacts&)>& text) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const RankFacts& rank : job.ranks) {
    const std::string own = text(rank);
    if (own.empty()) continue;
    const auto found =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == own; });
    if (found != groups.end())
      found->second.push_back(rank.rank);
    else
      groups.push_back({own, {rank.rank}});
  }
  return groups;
}

std::string where_text(const JobFacts& job, const std::vector<int>& ranks) {
  return ranks.size() == job.ranks.size() ? "" : " (" + ranks_text(ranks) + ")";
}

std::vector<std::vector<const RankFacts*>> nodes_of(const JobFacts& job) {
  std::vector<std::vector<const RankFacts*>> nodes;
  for (const RankFacts& rank : job.ranks) {
    const auto found =
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node[0]->host == rank.host; });
    if (found != nodes.end())
      found->push_back(&rank);
    else
      nodes.push_back({&rank});
  }
  return nodes;
}

CpuSet cpus_together(const std::vector<const RankFacts*>& node) {
  CpuSet cpus;
  for (const RankFacts* rank : node) cpus |= rank->cpus;
  return cpus;
}

int threads_together(const std::vector<const RankFacts*>& node) {
  int threads = 0;
  for (const RankFacts* rank : node) threads += rank->threads;
  return threads;
}

bool is_oversubscribed(const std::vector<const RankFacts*>& node) {
  return threads_together(node) > cpus_together(node).count();
}

bool is_busy(const std::vector<const RankFacts*>& node) {
  return node[0]->load + threads_together(node) > node[0]->node_cpus.count() + 1;
}

std::string bytes_text(i64 bytes) { return megabytes_text(static_cast<double>(bytes)); }

std::string variable(const RankFacts& rank, const std::string& name) {
  const auto found = rank.environment.find(name);
  return found != rank.environment.end() ? found->second : "";
}

}  // namespace cortado::doctor
