#pragma once
#include <memory>
#include <string>
#include <vector>

#include "app/command_line/verb.h"

namespace cortado {

/// The command line, parsed.
struct Command {
  std::string name;            ///< "train", "bench conv"
  std::unique_ptr<Verb> verb;  ///< nullptr after --help and --version, which have printed
  std::vector<GivenFlag> given;
  std::vector<AddFields> add_fields;  ///< refer to `verb`
  std::vector<std::string> notes;     ///< which words have no effect, for the log
  double patience = 600;              ///< seconds that a wait for other ranks may last without progress
};

/// Parses; Caffe's single-dash flags are taken too. Throws ConfigError for what it does not understand.
Command parse_command_line(int count, char** arguments);

}  // namespace cortado
