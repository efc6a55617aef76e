#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cortado {

/// Turns words of a command line for Caffe into ours. They may have one dash or two. glog's flags and flags without
/// meaning are left out, and `notes` tell it. Throws ConfigError for the names of Caffe's other tools, with the command
/// that does their work.
std::vector<std::string> caffe_words(int count, char** arguments, std::vector<std::string>& notes);

/// Removes Caffe's flags that the verb does not use from the words; `notes` tell it. `--gpu` becomes `--devices` where
/// the verb has that. Throws ConfigError for unknown verbs and flags, with a close name, and for malformed numbers.
std::vector<std::string> settle_words(const CLI::App& app, const std::vector<std::string>& words,
                                      std::vector<std::string>& notes);

}  // namespace cortado
