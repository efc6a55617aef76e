#pragma once
#include <memory>
#include <string>

#include "backends/sunway/programs.h"
#include "core/machine/core_group.h"

namespace cortado::sunway::sim {

struct Options {
  std::string machine = "sw26010";  ///< a name of machine_names()
  int core_groups = 1;              ///< 0: all of the processor's
  bool timing_only = false;         ///< programs run their schedule without arithmetic; memory contents mean nothing
  /// A timeline that Perfetto and chrome://tracing open is written here when the processor ends, and a table by kernel
  /// to stderr. Empty: neither.
  std::string profile;
};

/// A Sunway processor on the host: checks what a Sunway program does and counts its cycles
/// (docs/design/sunway-model.md). Times of events are simulated. Throws ConfigError for a machine that is not
/// described.
std::unique_ptr<Processor> make_processor(const Options& options, Programs programs);

}  // namespace cortado::sunway::sim
