#pragma once
#include <string>

#include "app/record/saved_run.h"

namespace cortado {

/// Reads a training's log, Cortado's or Caffe's: the loss that it shows, outputs, rates, and outputs of tests. Throws
/// FileError for a file without such lines.
SavedRun read_log(const std::string& file);

/// A run that a user names, and the beginning of names of files that belong to it.
struct NamedRun {
  SavedRun run;
  std::string prefix;
};
/// Reads the run that find_run finds, or the log of that name.
NamedRun read_named_run(const std::string& name);

}  // namespace cortado
