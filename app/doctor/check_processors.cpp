// Threads and processors: how threads wait, which processors ranks have, and whether they are enough.
#include <algorithm>
#include <cmath>

#include "app/doctor/checks.h"
#include "app/start/log_header.h"

namespace cortado::doctor {
namespace {
constexpr double long_spin = 10e3;  // microseconds; longer than the gaps between launches

std::string count_text(std::size_t count, const char* of) {
  return std::to_string(count) + " " + of + (count == 1 ? "" : "s");
}

std::string number(double value) {
  const double tenths = std::round(10 * value) / 10;
  std::string text = std::to_string(tenths);
  return text.substr(0, text.find('.') + 2);
}

std::string cpus_text(const CpuSet& cpus) { return (cpus.count() == 1 ? "CPU " : "CPUs ") + cpus.text(); }

/// True if each rank has CPUs that no other has.
bool has_own_cpus(const std::vector<const RankFacts*>& node) {
  int sum = 0;
  for (const RankFacts* rank : node) sum += rank->cpus.count();
  return sum == cpus_together(node).count();
}

/// "0-3 | 4-7": the CPUs of the node's ranks.
std::string cpus_by_rank(const std::vector<const RankFacts*>& node) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, node.size()); ++i) text += (i > 0 ? " | " : "") + node[i]->cpus.text();
  return text + (node.size() > most ? " | ..." : "");
}
}  // namespace

std::vector<Finding> check_waiting(const JobFacts& job) {
  std::vector<Finding> found;
  std::vector<int> spinning;
  for (const auto& node : nodes_of(job))
    for (const RankFacts* rank : node)
      if ((rank->spins == -1 || rank->spins > long_spin) && (is_oversubscribed(node) || !has_own_cpus(node)))
        spinning.push_back(rank->rank);
  if (!spinning.empty())
    found.push_back({Grade::warning, "",
                     "threads spin while they wait, and share their processors with others" + where_text(job, spinning),
                     "unset OMP_WAIT_POLICY, GOMP_SPINCOUNT and KMP_BLOCKTIME: Cortado then chooses"});
  for (const auto& [text, ranks] : texts_of_ranks(job, [](const RankFacts& rank) { return rank.waiting; }))
    if (spinning.empty())
      found.push_back({Grade::ok, "", "threads that wait for work: " + text + where_text(job, ranks), ""});
  return found;
}

std::vector<Finding> check_binding(const JobFacts& job) {
  std::vector<Finding> found;
  for (const auto& node : nodes_of(job)) {
    const RankFacts& first = *node[0];
    const std::string where = first.host + ": ";
    if (!first.crowding.empty())
      found.push_back({Grade::warning, "", where + first.crowding, advice_on_crowding()});
    else if (node.size() > 1 && !has_own_cpus(node))
      found.push_back({Grade::warning, "",
                       where + count_text(node.size(), "rank") + " share " + cpus_text(cpus_together(node)) +
                           ": threads move from one processor to another",
                       "let the launcher give each rank CPUs of its own: mpiexec -bind-to core:N (MPICH), mpirun "
                       "--map-by slot:PE=N (Open MPI), srun -c N --cpu-bind=cores"});
    else
      found.push_back(
          {Grade::ok, "",
           where + count_text(node.size(), "rank") + " on CPUs " + cpus_by_rank(node) + " of " + first.node_cpus.text(),
           ""});
    if (const int idle = first.node_cpus.count() - cpus_together(node).count(); idle > 0 && first.crowding.empty())
      found.back().what += "; " + count_text(static_cast<std::size_t>(idle), "CPU") + " of the node stay without work";
  }
  return found;
}

std::vector<Finding> check_oversubscription(const JobFacts& job) {
  std::vector<Finding> found;
  for (const auto& node : nodes_of(job)) {
    const RankFacts& first = *node[0];
    const int threads = threads_together(node), cpus = cpus_together(node).count();
    if (threads == 0) continue;
    const std::string where = first.host + ": " + count_text(static_cast<std::size_t>(threads), "thread") + " of " +
                              count_text(node.size(), "rank");
    const bool may_lower =
        !variable(first, "OMP_NUM_THREADS").empty() && static_cast<std::size_t>(threads) > node.size();
    if (threads > cpus)
      found.push_back({Grade::warning, "", where + " have " + count_text(static_cast<std::size_t>(cpus), "CPU"),
                       std::string(may_lower ? "lower OMP_NUM_THREADS, or unset it: Cortado then divides the CPUs"
                                             : "start fewer ranks on the node") +
                           "; each rank needs at least one CPU of its own"});
    else if (first.quota > 0 && threads > first.quota + 0.5)
      found.push_back({Grade::warning, "",
                       where + " may take the time of " + number(first.quota) + " CPUs together (control group)",
                       "set OMP_NUM_THREADS to what the container or job is granted"});
    else if (is_busy(node))
      found.push_back({Grade::warning, "",
                       where + ", and others compute on the node: load average " + number(first.load) + " on " +
                           count_text(static_cast<std::size_t>(first.node_cpus.count()), "CPU"),
                       "leave the machine to the job, or take fewer threads (OMP_NUM_THREADS)"});
    else
      found.push_back(
          {Grade::ok, "",
           where + " on " + count_text(static_cast<std::size_t>(cpus), "CPU") + ", load average " + number(first.load),
           ""});
  }
  return found;
}

}  // namespace cortado::doctor
