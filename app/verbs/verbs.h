#pragma once
#include <memory>
#include <vector>

#include "app/command_line/verb.h"

namespace cortado {

/// A verb's row in the table. "bench conv" belongs to "bench", which only gathers verbs.
struct VerbRow {
  const char* name;
  const char* what;                 ///< one line of --help
  std::unique_ptr<Verb> (*make)();  ///< nullptr means that the row gathers those below it
};

/// All verbs, in the order of --help.
const std::vector<VerbRow>& verbs();

}  // namespace cortado
