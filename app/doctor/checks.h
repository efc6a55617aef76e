#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/doctor/facts.h"

namespace cortado::doctor {

/// A topic's check: from facts to lines. It reads nothing but the facts.
struct TopicCheck {
  const char* topic;
  std::vector<Finding> (*check)(const JobFacts& job);
};

/// All checks, in the order of their lines.
const std::vector<TopicCheck>& topic_checks();

/// The lines of all checks. Each has its topic.
std::vector<Finding> examine(const JobFacts& job);

// Words that several checks use.

/// "rank 3", "ranks 0-2, 5".
std::string ranks_text(const std::vector<int>& ranks);
/// The different texts of the ranks, each with the ranks that have it, in the order in which they come. Ranks without
/// a text are left out.
std::vector<std::pair<std::string, std::vector<int>>> texts_of_ranks(
    const JobFacts& job, const std::function<std::string(const RankFacts&)>& text);
/// " (ranks 0-2)"; empty where these are all ranks.
std::string where_text(const JobFacts& job, const std::vector<int>& ranks);
/// The ranks of each node, in the order of their first ranks.
std::vector<std::vector<const RankFacts*>> nodes_of(const JobFacts& job);
/// The CPUs that the ranks may use together.
CpuSet cpus_together(const std::vector<const RankFacts*>& node);
/// The threads of the ranks together.
int threads_together(const std::vector<const RankFacts*>& node);
/// True if the node's ranks have more threads together than CPUs.
bool is_oversubscribed(const std::vector<const RankFacts*>& node);
/// True if the node computes for others too.
bool is_busy(const std::vector<const RankFacts*>& node);
/// "411 MB".
std::string bytes_text(i64 bytes);
/// The value of a variable on a rank; empty where it is not set.
std::string variable(const RankFacts& rank, const std::string& name);

// The checks, by the file that they stand in: check_processors.cpp
std::vector<Finding> check_waiting(const JobFacts& job);
std::vector<Finding> check_binding(const JobFacts& job);
std::vector<Finding> check_oversubscription(const JobFacts& job);
// check_launch.cpp
std::vector<Finding> check_launch(const JobFacts& job);
std::vector<Finding> check_mpi(const JobFacts& job);
std::vector<Finding> check_messages(const JobFacts& job);
std::vector<Finding> check_clocks(const JobFacts& job);
// check_machine.cpp
std::vector<Finding> check_machine(const JobFacts& job);
std::vector<Finding> check_matrix_library(const JobFacts& job);
std::vector<Finding> check_tuning(const JobFacts& job);
// check_memory.cpp
std::vector<Finding> check_shared_memory(const JobFacts& job);
std::vector<Finding> check_memory(const JobFacts& job);
std::vector<Finding> check_limits(const JobFacts& job);
// check_files.cpp
std::vector<Finding> check_solver(const JobFacts& job);
std::vector<Finding> check_sets(const JobFacts& job);
std::vector<Finding> check_striping(const JobFacts& job);
std::vector<Finding> check_snapshots(const JobFacts& job);

}  // namespace cortado::doctor
