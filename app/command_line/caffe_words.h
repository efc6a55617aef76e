#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cortado {

/// The command line's words as people write them for Caffe, in ours: one dash or two, glog's flags and flags that mean
/// nothing left out, which `notes` then tell. Throws ConfigError for the names of Caffe's other tools, with the command
/// that does their work.
std::vector<std::string> caffe_words(int count, char** arguments, std::vector<std::string>& notes);

/// The same words without those of Caffe's flags that the verb has no use for, which `notes` then tell. `--gpu` becomes
/// `--devices` where the verb has that. Throws ConfigError for verbs and flags that do not exist, with the one that was
/// likely meant, and for numbers that are none.
std::vector<std::string> settle_words(const CLI::App& app, const std::vector<std::string>& words,
                                      std::vector<std::string>& notes);

}  // namespace cortado
