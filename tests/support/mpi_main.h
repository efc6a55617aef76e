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
/// which take turns on few cores.
inline std::vector<std::string> job_backends() {
  if (job().size() <= 3) return backend_names();
  for (const auto& name : backend_names())
    if (name != "reference" && name != "lanes") return {name};
  return {"reference"};
}

/// Fails unless all ranks hold the same bits of `what`. Collective.
inline void expect_agreement(const std::vector<float>& values, const std::string& what = "values") {
  auto roots = values;
  job().replicas().from_root(roots.data(), static_cast<i64>(roots.size()));
  EXPECT_EQ(values, roots) << what << " differ from rank 0's";
}

}  // namespace cortado::test
