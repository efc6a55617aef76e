#include "comm/launcher.h"

#include <cstdlib>
#include <optional>

#include "core/base/error.h"

namespace cortado {
namespace {
std::optional<long> number_in(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return {};
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (end == text) return {};
  return number;
}

constexpr const char* slurms =
    "start it with `srun --mpi=pmi2` or `srun --mpi=pmix` (`srun --mpi=list` says what there is), or with mpirun";
constexpr const char* mpiruns = "start it with the mpirun of the library it was built with";

/// A launcher's variable, and the advice to its user.
struct Variable {
  const char *name, *advice;
};
/// The number of ranks that MPI's own launchers start: Hydra (MPICH, Intel, Cray's PALS), Open MPI, MVAPICH.
constexpr Variable ranks_started[] = {
    {"PMI_SIZE", mpiruns}, {"OMPI_COMM_WORLD_SIZE", mpiruns}, {"MV2_COMM_WORLD_SIZE", mpiruns}};
/// The number of processes that others start: Slurm's srun, PALS on one node, Flux, jsrun.
constexpr Variable processes_started[] = {{"SLURM_STEP_NUM_TASKS", slurms},
                                          {"PALS_LOCAL_SIZE", mpiruns},
                                          {"FLUX_JOB_SIZE", mpiruns},
                                          {"JSM_NAMESPACE_SIZE", mpiruns}};
/// Which process this is: 0 may be one alone.
constexpr Variable numbers[] = {{"PMIX_RANK", mpiruns},
                                {"PMI_RANK", mpiruns},
                                {"SLURM_PROCID", slurms},
                                {"PALS_RANKID", mpiruns},
                                {"FLUX_TASK_RANK", mpiruns}};
}  // namespace

void check_launcher(int ranks, const std::string& library) {
  if (ranks != 1) return;
  const auto refuse = [&](const Variable& by, const std::string& what) {
    throw ConfigError(
        "MPI job", what + " (" + by.name + "), but each is a job of one rank",
        std::string(by.advice) + " (" + library + "); to run jobs of one rank side by side, unset " + by.name);
  };
  const auto check_count = [&](const Variable& count) {
    const auto started = number_in(count.name);
    if (started.value_or(1) > 1) refuse(count, "the launcher started " + std::to_string(*started) + " processes");
    return started.has_value();
  };
  bool told = false;
  for (const Variable& count : ranks_started) told = check_count(count) || told;
  if (told) return;  // `mpirun -n 1`, whose helpers Slurm may have started as several
  for (const Variable& count : processes_started) check_count(count);
  for (const Variable& number : numbers)
    if (const auto own = number_in(number.name); own.value_or(0) > 0)
      refuse(number, "the launcher started several processes, of which this is number " + std::to_string(*own));
}

}  // namespace cortado
