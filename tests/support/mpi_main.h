#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/job.h"
#include "tests/support/backends.h"

namespace cortado::test {

/// The MPI job of a test program that is run under mpirun (tests/support/mpi_main.cpp, which has its main).
const MpiJob& job();

/// The backends that a test body of several ranks runs on: all, but only the build's own with more than three ranks,
/// which take turns on few cores, and "late", unless it is what was asked for, with two to `most_late` ranks only: one
/// rank exchanges nothing.
inline std::vector<std::string> job_backends(int most_late = 2) {
  const bool takes_late = configured("backend") == "late" || (job().size() >= 2 && job().size() <= most_late);
  std::vector<std::string> names, built{"reference"};
  for (const auto& name : backend_names()) {
    if (name != "late" || takes_late) names.push_back(name);
    if (name != "reference" && name != "lanes" && name != "late") built = {name};
  }
  return job().size() <= 3 ? names : built;
}

/// Fails unless all ranks hold the same bits of `what`. Collective.
inline void expect_agreement(const std::vector<float>& values, const std::string& what = "values") {
  auto roots = values;
  job().replicas().from_root(roots.data(), static_cast<i64>(roots.size()));
  EXPECT_EQ(values, roots) << what << " differ from rank 0's";
}

}  // namespace cortado::test
