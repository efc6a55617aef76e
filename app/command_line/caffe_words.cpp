#include "app/command_line/caffe_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/formats/close_name.h"

namespace cortado {
namespace {

/// "-solver" means "--solver", as in Caffe; "-1" and "-" stay.
std::string two_dashes(const std::string& argument) {
  const bool one_dash_word =
      argument.size() > 2 && argument[0] == '-' && std::isalpha(static_cast<unsigned char>(argument[1])) != 0;
  return one_dash_word ? "-" + argument : argument;
}

/// "--" ends the flags.
bool is_flag(const std::string& word) { return word.size() > 2 && word[0] == '-' && word[1] == '-'; }
std::string name_of(const std::string& word) { return word.substr(0, word.find('=')); }

/// A flag's value is the next word, if it is not behind its equals sign.
enum class Takes { value, nothing };

/// glog's flags: the log goes to standard error, all of it.
const std::map<std::string, Takes>& log_flags() {
  static const std::map<std::string, Takes> flags = {{"--logtostderr", Takes::nothing},
                                                     {"--nologtostderr", Takes::nothing},
                                                     {"--alsologtostderr", Takes::nothing},
                                                     {"--noalsologtostderr", Takes::nothing},
                                                     {"--colorlogtostderr", Takes::nothing},
                                                     {"--log_prefix", Takes::nothing},
                                                     {"--nolog_prefix", Takes::nothing},
                                                     {"--log_dir", Takes::value},
                                                     {"--minloglevel", Takes::value},
                                                     {"--stderrthreshold", Takes::value},
                                                     {"-v", Takes::value},
                                                     {"--v", Takes::value},
                                                     {"--vmodule", Takes::value},
                                                     {"--logbuflevel", Takes::value},
                                                     {"--logbufsecs", Takes::value},
                                                     {"--max_log_size", Takes::value}};
  return flags;
}

/// The flags that Caffe gives to all its verbs, though some do not use them.
const std::set<std::string>& caffe_flags() {
  static const std::set<std::string> flags = {"--gpu",        "--solver",        "--model",        "--phase",
                                              "--level",      "--stage",         "--snapshot",     "--weights",
                                              "--iterations", "--sigint_effect", "--sighup_effect"};
  return flags;
}

const std::set<std::string>& caffe_verbs() {
  static const std::set<std::string> verbs = {"train", "test", "time", "device_query"};
  return verbs;
}

/// Caffe's tools, and what does their work here.
const std::map<std::string, std::string>& tools() {
  static const std::map<std::string, std::string> commands = {
      {"convert_imageset",
       "cortado convert set LIST TO --as lmdb, with --root FOLDER, --resize WIDTHxHEIGHT, --grey, "
       "--shuffle, --encoded as wanted"},
      {"compute_image_mean", "cortado convert mean FROM mean.binaryproto"},
      {"extract_features", "cortado extract --model M --weights F --blobs B,... --out O --as lmdb"},
      {"upgrade_net_proto_text", "cortado upgrade FROM TO"},
      {"upgrade_net_proto_binary", "cortado upgrade FROM TO"},
      {"upgrade_solver_proto_text", "cortado upgrade FROM TO --solver"},
      {"convert_mnist_data", "cortado convert mnist FROM TO, or cortado convert set FROM TO --as lmdb"},
      {"convert_cifar_data", "cortado convert set FROM TO --as lmdb"},
      {"classification", "cortado classify --model M --weights F IMAGE..."},
      {"draw_net", "cortado draw --model M --out net.svg"},
      {"draw_net.py", "cortado draw --model M --out net.svg"},
      {"parse_log.py", "Caffe's own parse_log.py, which reads this log"},
      {"finetune_net", "cortado train --solver S --weights F"},
      {"train_net", "cortado train --solver S"},
      {"test_net", "cortado test --model M --weights F"},
      {"net_speed_benchmark", "cortado time --model M"},
      {"caffe", "cortado VERB: train, test, time, device_query and more"}};
  return commands;
}

/// "convert_imageset.bin" is the name of a tool too.
std::string tool_of(std::string word) {
  const std::size_t bin = word.rfind(".bin");
  if (bin != std::string::npos && bin + 4 == word.size()) word.resize(bin);
  return word;
}

/// Numbers that are none pass a check of bounds.
bool is_no_number(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.erase(0, 1);
  return text == "nan" || text == "inf" || text == "infinity";
}

void check_number(const CLI::App& verb, const std::string& flag, const std::string& value) {
  const CLI::Option* const option = verb.get_option_no_throw(flag);
  if (option == nullptr || option->get_type_name().find("FLOAT") == std::string::npos) return;
  for (const std::string& part : CLI::detail::split(value, ','))
    if (is_no_number(part)) throw ConfigError("command line", flag + " is " + part, "give a number");
}

std::vector<std::string> flags_of(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : verb.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// As it is written: "cortado bench conv".
std::string whole_name(const CLI::App& verb) {
  return (verb.get_parent() == nullptr ? "" : whole_name(*verb.get_parent()) + " ") + verb.get_name();
}

/// Caffe takes all its flags for all its verbs. Those that say what is to be done are mistakes where they do nothing.
void refuse_idle(const std::string& verb, const std::string& flag) {
  static const std::map<std::string, std::string> advice = {
      {"train --iterations", "the solver's max_iter says how long it trains"},
      {"train --model", "the solver names its net"},
      {"train --phase", "it trains in phase TRAIN and tests in phase TEST"},
      {"test --solver", "give the net with -model"},
      {"test --phase", "it runs in phase TEST"},
      {"test --snapshot", "give the snapshot's .caffemodel with -weights"},
      {"time --solver", "give the net with -model"},
      {"time --snapshot", "give the snapshot's .caffemodel with -weights"}};
  if (flag == "--gpu" || flag.find("_effect") != std::string::npos) return;
  const auto found = advice.find(verb + " " + flag);
  throw ConfigError("command line", verb + " does nothing with " + flag.substr(1),
                    found == advice.end() ? "leave it out" : found->second);
}

[[noreturn]] void unknown_flag(const CLI::App& verb, const std::string& flag) {
  const std::string close = close_name(flag, flags_of(verb));
  throw ConfigError("command line", whole_name(verb) + " has no flag " + flag,
                    close.empty() ? "see " + whole_name(verb) + " --help" : "did you mean " + close + "?");
}

[[noreturn]] void unknown_verb(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* const verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  const std::string close = close_name(word, names);
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  throw ConfigError("command line", "there is no command '" + whole_name(app) + " " + word + "'",
                    close.empty() ? "there are: " + all : "did you mean '" + close + "'?");
}

}  // namespace

std::vector<std::string> caffe_words(int count, char** arguments, std::vector<std::string>& notes) {
  std::vector<std::string> words;
  const auto value_follows = [&](int i) {
    return std::string(arguments[i]).find('=') == std::string::npos && i + 1 < count;
  };
  for (int i = 1; i < count; ++i) {
    const std::string word = two_dashes(arguments[i]);
    const auto log_flag = log_flags().find(name_of(word));
    if (log_flag == log_flags().end()) {
      words.push_back(word);
      continue;
    }
    notes.push_back(name_of(arguments[i]) + " has no effect: the log goes to standard error, all of it");
    if (log_flag->second == Takes::value && value_follows(i)) ++i;
  }
  const auto verb = std::find_if_not(words.begin(), words.end(), is_flag);
  if (verb == words.end()) return words;
  const auto tool = tools().find(tool_of(*verb));
  if (tool != tools().end())
    throw ConfigError("command line", "'" + *verb + "' is a tool of Caffe's", "write: " + tool->second);
  return words;
}

std::vector<std::string> settle_words(const CLI::App& app, const std::vector<std::string>& words,
                                      std::vector<std::string>& notes) {
  const CLI::App* verb = &app;
  std::vector<std::string> settled;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (is_flag(word)) {
      const bool is_caffes = caffe_verbs().count(verb->get_name()) != 0 && caffe_flags().count(name_of(word)) != 0;
      if (is_caffes && name_of(word) == "--gpu" && verb->get_option_no_throw("--devices") != nullptr)
        word.replace(0, name_of(word).size(), "--devices");
      const std::string flag = name_of(word);
      const CLI::Option* const option = verb->get_option_no_throw(flag);
      const bool apart = word.size() == flag.size() && i + 1 < words.size();
      if (option == nullptr) {
        if (!is_caffes) unknown_flag(*verb, flag);
        refuse_idle(verb->get_name(), flag);
        notes.push_back(flag.substr(1) + " has no effect on " + verb->get_name() + " here");
        if (apart) ++i;
        continue;
      }
      const bool has_value = option->get_items_expected_max() > 0;
      if (word.size() > flag.size()) check_number(*verb, flag, word.substr(flag.size() + 1));
      settled.push_back(word);
      if (apart && has_value) {
        check_number(*verb, flag, words[++i]);
        settled.push_back(words[i]);
      }
      continue;
    }
    settled.push_back(word);
    const auto below = verb->get_subcommands([](const CLI::App*) { return true; });
    if (below.empty() || word[0] == '-') continue;
    const auto next =
        std::find_if(below.begin(), below.end(), [&](const CLI::App* one) { return one->get_name() == word; });
    if (next == below.end()) unknown_verb(*verb, word);
    verb = *next;
  }
  return settled;
}

}  // namespace cortado
