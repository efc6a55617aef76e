#pragma once
#include <memory>
#include <string>

#include "backends/reference/processor.h"
#include "core/base/error.h"
#include "core/machine/core_group.h"
#include "programs/reference_reference_test_programs.h"

namespace cortado::test {

inline std::unique_ptr<Processor> reference_processor(int lanes, int core_groups = 1) {
  reference::Options options;
  options.lanes = lanes;
  options.core_groups = core_groups;
  return reference::make_processor(options, reference::reference_test_programs());
}

/// The error that the wait throws; empty if it throws none.
inline std::string wait_error(CoreGroup& group) {
  try {
    group.wait();
  } catch (const ClusterError& error) { return error.what(); }
  return "";
}

}  // namespace cortado::test
