// The machine as the backend sees it, its matrix library, and the plans that were tuned for it.
#include "app/doctor/checks.h"

namespace cortado::doctor {
namespace {
constexpr int avx512_bytes = 64;
}

std::vector<Finding> check_machine(const JobFacts& job) {
  std::vector<Finding> found;
  for (const auto& [error, ranks] : texts_of_ranks(job, [](const RankFacts& rank) { return rank.backend_error; }))
    found.push_back({Grade::failure, "", "backend " + job.ranks[0].backend + ": " + error + where_text(job, ranks),
                     "nothing runs before that is mended; see docs/use/backends.md"});
  for (const auto& [text, ranks] : texts_of_ranks(job, [](const RankFacts& rank) { return rank.machine; }))
    found.push_back({Grade::ok, "", text + where_text(job, ranks), ""});
  for (const auto& node : nodes_of(job)) {
    std::map<std::string, std::vector<int>> users;
    for (const RankFacts* rank : node)
      for (const std::string& device : rank->devices) users[device].push_back(rank->rank);
    for (const auto& [device, ranks] : users)
      if (ranks.size() > 1)
        found.push_back({Grade::warning, "", node[0]->host + ": " + ranks_text(ranks) + " share " + device,
                         "start as many ranks on a node as it has devices, or name devices by --devices"});
  }
  for (const auto& [text, ranks] : texts_of_ranks(job, [](const RankFacts& rank) {
         std::string software;
         for (const auto& [name, version] : rank.software)
           software += (software.empty() ? "" : ", ") + name + " " + version;
         return software;
       }))
    found.push_back({Grade::ok, "", text + where_text(job, ranks), ""});
  return found;
}

std::vector<Finding> check_matrix_library(const JobFacts& job) {
  std::vector<Finding> found;
  for (const auto& [text, ranks] : texts_of_ranks(job, [](const RankFacts& rank) { return rank.why_no_library; }))
    found.push_back({Grade::ok, "", "none: " + text + where_text(job, ranks), ""});
  for (const auto& [text, ranks] : texts_of_ranks(job, [](const RankFacts& rank) { return rank.matrix_library; })) {
    const RankFacts& rank = job.ranks[static_cast<std::size_t>(ranks[0])];
    const std::string what = text + where_text(job, ranks);
    const bool is_slow = rank.vector_bytes == avx512_bytes &&
                         (text.find("Haswell") != std::string::npos || text.find("Zen kernels") != std::string::npos);
    const bool is_old = text.find("Prescott") != std::string::npos || text.find("Nehalem") != std::string::npos;
    if (is_slow || is_old)
      found.push_back({Grade::warning, "", what + " do not use this processor's vectors",
                       std::string("set OPENBLAS_CORETYPE=") + (is_slow ? "SkylakeX" : "Haswell") +
                           ", or install a newer OpenBLAS"});
    else
      found.push_back({Grade::ok, "", what, ""});
  }
  for (const auto& [text, ranks] : texts_of_ranks(job, [](const RankFacts& rank) {
         return std::string(rank.library_threading == 1 ? "pthreads" : rank.library_threading == 0 ? "none" : "");
       })) {
    if (job.ranks[static_cast<std::size_t>(ranks[0])].threads < 2) continue;
    const bool has_own = text == "pthreads";
    found.push_back({Grade::warning, "",
                     std::string(has_own ? "OpenBLAS brings threads of its own, beside OpenMP's"
                                         : "OpenBLAS computes on one thread") +
                         where_text(job, ranks),
                     "install OpenBLAS for OpenMP (Debian: libopenblas0-openmp)"});
  }
  for (const char* const name : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT"})
    for (const auto& [value, ranks] : texts_of_ranks(job, [name](const RankFacts& rank) {
           const std::string set = variable(rank, name);
           return !set.empty() && set != std::to_string(rank.threads) && rank.threads > 0 ? set : "";
         }))
      found.push_back({Grade::warning, "",
                       std::string(name) + "=" + value + " stands against " +
                           std::to_string(job.ranks[static_cast<std::size_t>(ranks[0])].threads) +
                           " threads of a rank" + where_text(job, ranks),
                       std::string("unset ") + name + ": OMP_NUM_THREADS decides"});
  return found;
}

std::vector<Finding> check_tuning(const JobFacts& job) {
  const NetFacts& net = job.net;
  if (!job.tuning_error.empty())
    return {{Grade::failure, "", job.tuning_error, "mend the file, or make a new one by cortado tune"}};
  if (!net.error.empty()) return {};  // the solver's check tells it
  if (job.ranks[0].solver.file.empty()) {
    if (job.has_tuning) return {{Grade::ok, "", "there are entries; --solver shows which layers have one", ""}};
    return {{Grade::warning, "", "no tuning file is here: every layer takes its first plan",
             "run in Cortado's folder, whose models/tuning.prototxt is read, or make one by cortado tune"}};
  }
  if (net.tuning.empty()) return {};
  if (net.tuned < net.with_choice)
    return {{Grade::warning, "", net.tuning,
             "cortado tune -model NET measures the others, by the job's own threads and binding"}};
  return {{Grade::ok, "", net.tuning, ""}};
}

}  // namespace cortado::doctor
