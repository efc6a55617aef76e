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
  std::vector<std::string> notes;     ///< words without effect, for the log
  double patience = 600;              ///< seconds that a wait for other ranks may last without progress
};

/// Parses the command line; it takes Caffe's single-dash flags too. Throws ConfigError for anything else.
Command parse_command_line(int count, char** arguments);

}  // namespace cortado
