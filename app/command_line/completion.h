#pragma once
#include <string>

namespace CLI {
class App;
}

namespace cortado {

/// A script that makes bash complete the command line: verbs, a verb's flags, and the words that a flag lists.
/// Elsewhere bash completes files.
std::string bash_completion(const CLI::App& app);

}  // namespace cortado
