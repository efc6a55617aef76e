// The job: its launcher, its ranks, the MPI library, the messages' times, the clocks.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "app/doctor/checks.h"

namespace cortado::doctor {
namespace {
constexpr double slow_on_node = 100e-6, slow_between_nodes = 1e-3;  // seconds there and back
constexpr double skew_to_mind = 0.1, skew_to_stop = 60;             // seconds

/// The launchers, by a variable that each sets.
struct Launcher {
  const char *variable, *name;
};
constexpr Launcher launchers[] = {{"OMPI_COMM_WORLD_SIZE", "Open MPI"},
                                  {"SLURM_STEP_NUM_TASKS", "Slurm"},
                                  {"PALS_RANKID", "PALS"},
                                  {"FLUX_TASK_RANK", "Flux"},
                                  {"JSM_NAMESPACE_SIZE", "jsrun"},
                                  {"MV2_COMM_WORLD_SIZE", "MVAPICH"},
                                  {"PMI_SIZE", "mpiexec (PMI)"},
                                  {"PMIX_RANK", "PMIx"}};

std::string launcher_of(const RankFacts& rank) {
  for (const Launcher& one : launchers)
    if (!variable(rank, one.variable).empty()) return one.name;
  return "";
}

std::string time_text(double seconds) {
  if (std::abs(seconds) < 1e-3) return fmt::format("{:.1f} us", 1e6 * seconds);
  if (std::abs(seconds) < 1) return fmt::format("{:.2f} ms", 1e3 * seconds);
  return fmt::format("{:.2f} s", seconds);
}

/// True if a list "rc,self" names something other than `names`.
bool names_only(const std::string& list, const std::vector<std::string>& names) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');)
    if (std::find(names.begin(), names.end(), word) == names.end()) return false;
  return !list.empty();
}

/// Lines of what differs among ranks though it should not.
void compare(const JobFacts& job, const char* what, const char* advice,
             const std::function<std::string(const RankFacts&)>& text, std::vector<Finding>& found) {
  const auto groups = texts_of_ranks(job, text);
  for (std::size_t i = 1; i < groups.size(); ++i)
    found.push_back({Grade::warning, "",
                     ranks_text(groups[i].second) + ": " + what + " " + groups[i].first + ", rank " +
                         std::to_string(groups[0].second[0]) + " has " + groups[0].first,
                     advice});
}
}  // namespace

std::vector<Finding> check_launch(const JobFacts& job) {
  std::vector<Finding> found;
  const auto nodes = nodes_of(job);
  const std::string launcher = launcher_of(job.ranks[0]);
  const std::size_t ranks = job.ranks.size();
  std::string what = std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") + " on " + std::to_string(nodes.size()) +
                     (nodes.size() == 1 ? " node, " : " nodes, ") +
                     (launcher.empty() ? "without a launcher" : "started by " + launcher);
  const auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  const auto [least, most] = std::minmax_element(nodes.begin(), nodes.end(), fewer);
  if (least->size() != most->size())
    found.push_back({Grade::warning, "",
                     what + ": " + (*least)[0]->host + " has " + std::to_string(least->size()) + ", " +
                         (*most)[0]->host + " has " + std::to_string(most->size()),
                     "start equally many ranks on every node: collectives inside nodes need it, and the slowest node "
                     "sets the pace"});
  else
    found.push_back({Grade::ok, "", what, ""});
  const char* const same = "give the job nodes of one kind";
  compare(
      job, "the processor is", same, [](const RankFacts& rank) { return rank.processor; }, found);
  compare(
      job, "threads:", "give every rank as many: all wait for the slowest",
      [](const RankFacts& rank) { return std::to_string(rank.threads); }, found);
  for (const char* const name : {"OMP_PROC_BIND", "OMP_PLACES"})
    compare(
        job, name, "give all ranks the same environment (mpiexec -genv, srun --export)",
        [name](const RankFacts& rank) {
          const std::string value = variable(rank, name);
          return value.empty() ? "not set" : value;
        },
        found);
  return found;
}

std::vector<Finding> check_mpi(const JobFacts& job) {
  std::vector<Finding> found;
  const auto libraries = texts_of_ranks(job, [](const RankFacts& rank) { return rank.mpi; });
  for (const auto& [text, ranks] : libraries)
    found.push_back(
        {libraries.size() == 1 ? Grade::ok : Grade::failure, "",
         text + (job.ranks[0].mpi_device.empty() ? "" : ", device " + job.ranks[0].mpi_device) + where_text(job, ranks),
         libraries.size() == 1 ? "" : "let every rank load the same library: ldd cortado on each node"});
  const bool several_nodes = nodes_of(job).size() > 1;
  for (const auto& [text, ranks] :
       texts_of_ranks(job, [](const RankFacts& rank) { return std::string(rank.calls_from_threads ? "" : "no"); }))
    found.push_back({Grade::warning, "", "the library takes no calls from several threads" + where_text(job, ranks),
                     "use one with MPI_THREAD_MULTIPLE: without it, nothing is exchanged beside backward"});
  for (const char* const name : {"UCX_TLS", "UCX_NET_DEVICES", "FI_PROVIDER", "OMPI_MCA_btl", "OMPI_MCA_pml"})
    for (const auto& [value, ranks] :
         texts_of_ranks(job, [name](const RankFacts& rank) { return variable(rank, name); })) {
      const std::string setting = std::string(name) + "=" + value + where_text(job, ranks);
      const bool is_slow = several_nodes && job.ranks[0].has_fabric &&
                           names_only(value, {"tcp", "self", "sm", "shm", "sysv", "posix", "cma", "sockets", "vader"});
      if (name == std::string("UCX_TLS") && job.ranks.size() > 1 && names_only(value, {"self"}))
        found.push_back({Grade::failure, "", setting + " lets no ranks talk to each other", "unset UCX_TLS"});
      else if (is_slow)
        found.push_back({Grade::warning, "", setting + " leaves the fast network of the nodes unused",
                         std::string("unset ") + name + ", or name the network's devices"});
      else
        found.push_back({Grade::ok, "", setting, ""});
    }
  return found;
}

std::vector<Finding> check_messages(const JobFacts& job) {
  std::vector<Finding> found;
  if (job.clocks.size() < 2) return found;
  double near = 0, far = 0;  // the slowest rank's
  int near_rank = 0, far_rank = 0;
  for (std::size_t i = 1; i < job.clocks.size(); ++i) {
    const bool is_near = job.ranks[i].host == job.ranks[0].host;
    double& slowest = is_near ? near : far;
    if (job.clocks[i].round_trip <= slowest) continue;
    slowest = job.clocks[i].round_trip;
    (is_near ? near_rank : far_rank) = job.ranks[i].rank;
  }
  bool crowded = false;
  for (const auto& node : nodes_of(job)) crowded = crowded || is_oversubscribed(node) || is_busy(node);
  const auto tell = [&](const char* place, double seconds, int rank, double limit, const char* advice) {
    if (seconds <= 0) return;
    const bool is_slow = seconds > limit && !crowded;
    found.push_back({is_slow ? Grade::warning : Grade::ok, "",
                     std::string("a message and its answer take at most ") + time_text(seconds) + " " + place +
                         " (rank 0 and " + std::to_string(rank) + ")" +
                         (seconds > limit && crowded ? ", where processors are shared" : ""),
                     is_slow ? advice : ""});
  };
  tell("on a node", near, near_rank, slow_on_node,
       "look for other work on the node, and let MPI use shared memory (UCX_TLS, FI_PROVIDER unset)");
  tell("between nodes", far, far_rank, slow_between_nodes,
       "let MPI use the fast network: UCX_NET_DEVICES, FI_PROVIDER; see docs/use/troubleshooting.md");
  return found;
}

std::vector<Finding> check_clocks(const JobFacts& job) {
  std::vector<Finding> found;
  const auto nodes = nodes_of(job);
  std::size_t largest = 0;
  for (std::size_t i = 1; i < job.clocks.size(); ++i)
    if (std::abs(job.clocks[i].seconds) > std::abs(job.clocks[largest].seconds)) largest = i;
  if (job.clocks.size() > 1) {
    const ClockOffset& skew = job.clocks[largest];
    const double sure = std::abs(skew.seconds) - skew.bound;
    const std::string what =
        largest == 0
            ? "all ranks' clocks are rank 0's"
            : "rank " + std::to_string(job.ranks[largest].rank) + " on " + job.ranks[largest].host + " is " +
                  time_text(std::abs(skew.seconds)) + (skew.seconds < 0 ? " behind" : " ahead of") + " rank 0, +- " +
                  time_text(skew.bound) + (job.clocks.size() > 2 ? "; the others differ less" : "");
    found.push_back({sure > skew_to_stop   ? Grade::failure
                     : sure > skew_to_mind ? Grade::warning
                                           : Grade::ok,
                     "", what,
                     sure > skew_to_mind ? "set the nodes' clocks (chronyd, ntpd): times of logs and files mislead, "
                                           "and batch systems refuse credentials"
                                         : ""});
  } else {
    found.push_back({Grade::ok, "", "one rank has one clock", ""});
  }
  if (nodes.size() < 2) return found;
  for (const auto& [text, ranks] :
       texts_of_ranks(job, [](const RankFacts& rank) { return std::string(rank.clock_is_set ? "" : "no"); }))
    found.push_back({Grade::warning, "", "the system says that nothing sets its clock" + where_text(job, ranks),
                     "run chronyd or ntpd on the node"});
  return found;
}

}  // namespace cortado::doctor
