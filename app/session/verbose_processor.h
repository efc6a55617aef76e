#pragma once
#include <memory>
#include <string>

#include "core/machine/core_group.h"

namespace cortado {

/// The wish for a line per launch, by the environment.
struct VerboseOptions {
  bool is_on = false;       ///< CORTADO_VERBOSE=1
  std::string file;         ///< CORTADO_VERBOSE_FILE; empty: standard error
  int rank = 0, ranks = 1;  ///< of several ranks, each writes to FILE.RANK
};

/// Reads the environment. Throws ConfigError where CORTADO_VERBOSE is neither 0 nor 1.
VerboseOptions verbose_options(int rank, int ranks);

/// The columns of a line, separated by commas. docs/use/tools.md says what they mean.
extern const char* const verbose_columns;

/// A processor that does what `real` does, and writes a line of CSV for each cluster program and each call of a
/// library. It waits for each, so nothing overlaps. A line has one write of its own; the first has the columns'
/// names. Without the wish it returns `real` itself, so launches cost nothing. Throws FileError where the file cannot
/// be written.
std::unique_ptr<Processor> verbosely(std::unique_ptr<Processor> real, const VerboseOptions& options);

}  // namespace cortado
