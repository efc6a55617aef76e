// Memory of the node, memory that ranks share, and the system's limits.
#include <algorithm>

#include "app/doctor/checks.h"

namespace cortado::doctor {
namespace {
constexpr i64 shared_per_rank = i64{16} << 20;  // messages of MPI and of collectives inside a node
constexpr i64 least_files = 1024, least_stack = i64{8} << 20, least_locked = i64{64} << 20;

std::string amount(const LimitFacts& limit, i64 value) {
  if (value < 0) return "unlimited";
  return limit.unit > 1 ? bytes_text(value) : std::to_string(value);
}

/// A limit's least value that does no harm, and the harm. 0: any value does.
struct Need {
  i64 least = 0;
  Grade grade = Grade::warning;
  const char* harm = "";
};

Need need_for(const LimitFacts& limit, const RankFacts& rank, const JobFacts& job) {
  if (limit.flag == "-n") return {least_files, Grade::warning, "stripes, messages and readers hold files open"};
  if (limit.flag == "-s") return {least_stack, Grade::warning, "threads take their stacks from it"};
  if (limit.flag == "-l" && rank.has_fabric)
    return {least_locked, Grade::warning, "the network's messages need locked memory"};
  if (limit.flag == "-u") return {4 * i64{std::max(1, rank.threads)}, Grade::failure, "threads count as processes"};
  if (limit.flag == "-f")
    return {std::max(job.net.snapshot, i64{1} << 30), job.net.snapshot > limit.soft ? Grade::failure : Grade::warning,
            "snapshots and converted sets are larger"};
  if (limit.flag == "-v")
    return {std::max(2 * job.net.memory, i64{8} << 30), Grade::warning, "libraries map more than they use"};
  return {};
}

std::string advice_for(const LimitFacts& limit, i64 least) {
  const i64 wanted = (least + limit.unit - 1) / limit.unit;
  if (limit.hard >= 0 && limit.hard < least)
    return "ask the site to raise the hard limit of " + limit.name + ", " + amount(limit, limit.hard) +
           " (limits.conf; Slurm: PropagateResourceLimits)";
  return "ulimit -S " + limit.flag + " " + std::to_string(wanted) + " before the launch";
}
}  // namespace

std::vector<Finding> check_shared_memory(const JobFacts& job) {
  std::vector<Finding> found;
  for (const auto& node : nodes_of(job)) {
    const RankFacts& first = *node[0];
    const StorageFacts& memory = first.shared_memory;
    const i64 need = static_cast<i64>(node.size()) * shared_per_rank;
    const std::string where = first.host + ": " + memory.path + " ";
    const bool is_needed = node.size() > 1;
    if (!memory.error.empty())
      found.push_back(
          {is_needed ? Grade::failure : Grade::ok, "", where + memory.error,
           is_needed ? "ranks of a node share memory there: mount it (docker --shm-size), or UCX_TLS=tcp,self" : ""});
    else if (memory.free >= 0 && memory.free < need)
      found.push_back({is_needed ? Grade::warning : Grade::ok, "",
                       where + "has " + bytes_text(memory.free) + " left; " + std::to_string(node.size()) +
                           (node.size() == 1 ? " rank may want " : " ranks may want ") + bytes_text(need),
                       is_needed ? "give it more (docker --shm-size, mount -o remount,size=...), or remove what ended "
                                   "jobs have left there"
                                 : ""});
    else
      found.push_back({Grade::ok, "", where + "has " + bytes_text(memory.free) + " left", ""});
  }
  return found;
}

std::vector<Finding> check_memory(const JobFacts& job) {
  std::vector<Finding> found;
  for (const auto& node : nodes_of(job)) {
    i64 free = node[0]->free_memory;
    for (const RankFacts* rank : node) free = std::min(free, rank->free_memory);
    const std::string where = node[0]->host + ": " + bytes_text(free) + " are free";
    const i64 need = static_cast<i64>(node.size()) * job.net.memory;
    const std::string needs = ", the net needs " + bytes_text(need) + " in " + std::to_string(node.size()) +
                              (node.size() == 1 ? " process" : " processes");
    if (job.net.memory > free)
      found.push_back({Grade::failure, "", where + needs,
                       "a smaller batch_size with iter_size, precision: BF16, or --memory; cortado check says more"});
    else if (need > free)
      found.push_back(
          {Grade::failure, "", where + needs, "fewer ranks on the node with more threads: each has all parameters"});
    else
      found.push_back({Grade::ok, "", where + (need > 0 ? needs : ""), ""});
  }
  for (const auto& [text, ranks] :
       texts_of_ranks(job, [](const RankFacts& rank) { return rank.huge_pages == "never" ? rank.huge_pages : ""; }))
    found.push_back({Grade::warning, "", "the system gives no transparent huge pages" + where_text(job, ranks),
                     "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, as root"});
  return found;
}

std::vector<Finding> check_limits(const JobFacts& job) {
  std::vector<Finding> found;
  std::vector<std::pair<Finding, std::vector<int>>> low;
  for (const RankFacts& rank : job.ranks)
    for (const LimitFacts& limit : rank.limits) {
      const Need need = need_for(limit, rank, job);
      if (limit.soft < 0 || limit.soft >= need.least) continue;
      const Finding line = {need.grade, "", limit.name + ": at most " + amount(limit, limit.soft) + "; " + need.harm,
                            advice_for(limit, need.least)};
      const auto known = std::find_if(low.begin(), low.end(), [&](const auto& one) {
        return one.first.what == line.what && one.first.advice == line.advice;
      });
      if (known != low.end())
        known->second.push_back(rank.rank);
      else
        low.push_back({line, {rank.rank}});
    }
  for (auto& [line, ranks] : low) {
    line.what += where_text(job, ranks);
    found.push_back(line);
  }
  if (!found.empty()) return found;
  std::string text;
  for (const LimitFacts& limit : job.ranks[0].limits)
    text += (text.empty() ? "" : ", ") + limit.name + " " + amount(limit, limit.soft);
  return {{Grade::ok, "", text, ""}};
}

}  // namespace cortado::doctor
