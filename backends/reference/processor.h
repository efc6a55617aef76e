#pragma once
#include <memory>

#include "backends/reference/programs.h"
#include "core/machine/core_group.h"

namespace cortado::reference {

struct Options {
  int core_groups = 1;            ///< 0 counts as 1
  int lanes = 1;                  ///< 1: serial; more: lanes mode, each body runs as that many lanes
  int cpes = 4;                   ///< compute elements that lines and tiles are spread over, one after the other
  i64 scratch_bytes = 64 * 1024;  ///< of one CPE; SW26010's by default
};

std::unique_ptr<Processor> make_processor(const Options& options, Programs programs);

}  // namespace cortado::reference
