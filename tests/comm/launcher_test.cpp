// A launcher that starts several processes, each of which MPI takes for a job of its own.
#include "comm/launcher.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>

#include "comm/mpi_library.h"
#include "core/base/error.h"

namespace cortado::test::launcher_test {
namespace {

/// Those variables alone are set while it lives.
class LauncherTest : public ::testing::Test {
 protected:
  LauncherTest() {
    for (const char* name :
         {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK",
          "PMIX_RANK", "PALS_LOCAL_SIZE", "PALS_RANKID", "FLUX_JOB_SIZE", "FLUX_TASK_RANK", "JSM_NAMESPACE_SIZE"}) {
      const char* const value = std::getenv(name);
      before_[name] = value != nullptr ? std::optional<std::string>(value) : std::nullopt;
      unsetenv(name);
    }
  }
  ~LauncherTest() override {
    for (const auto& [name, value] : before_)
      if (value)
        setenv(name.c_str(), value->c_str(), 1);
      else
        unsetenv(name.c_str());
  }
  static std::string told(int ranks) {
    try {
      check_launcher(ranks, "MPICH 4");
    } catch (const ConfigError& error) { return error.what(); }
    return "";
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(LauncherTest, RefusesOneRankOfSeveralProcesses) {
  for (const char* name :
       {"SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PALS_RANKID",
        "PALS_LOCAL_SIZE", "FLUX_JOB_SIZE", "FLUX_TASK_RANK", "SLURM_PROCID"}) {
    setenv(name, "2", 1);
    EXPECT_NE(told(1).find(name), std::string::npos) << name;
    EXPECT_NE(told(1).find("MPICH 4"), std::string::npos) << name;
    EXPECT_EQ(told(2), "") << name;
    unsetenv(name);
  }
  setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  EXPECT_NE(told(1).find("srun --mpi=pmi2"), std::string::npos);
}

TEST_F(LauncherTest, TakesOneProcessAlone) {
  EXPECT_EQ(told(1), "");
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "PMI_SIZE", "FLUX_JOB_SIZE"}) setenv(name, "1", 1);
  for (const char* name : {"SLURM_PROCID", "PMIX_RANK", "PMI_RANK", "FLUX_TASK_RANK"}) setenv(name, "0", 1);
  EXPECT_EQ(told(1), "");
  // mpirun -n 1 in an allocation of two nodes: Slurm starts mpirun's helpers.
  setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  EXPECT_EQ(told(1), "");
}

TEST(MpiLibrary, NamesAreOneLine) {
  EXPECT_EQ(library_line("MPICH Version:\t4.0.2\nMPICH Device:\tch4:ofi\n"), "MPICH Version: 4.0.2");
  EXPECT_EQ(library_line(std::string("Open MPI v4.1.4,  package: Debian\0", 34)), "Open MPI v4.1.4, package: Debian");
  EXPECT_EQ(mpi_library(), library_line(mpi_library()));
}

}  // namespace
}  // namespace cortado::test::launcher_test
