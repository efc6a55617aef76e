#include "app/command_line/completion.h"

#include <CLI/CLI.hpp>
#include <vector>

namespace cortado {
namespace {
/// Caffe's spelling has one dash, ours two.
constexpr const char* completing = R"bash(
_cortado() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb= word words
  COMPREPLY=()
  if [ "$current" = = ]; then current=; fi
  if [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do  # "bench conv" is one verb
    [ -n "$(_cortado_verbs "$verb")" ] || break
    case $word in -*) break ;; esac
    verb=${verb:+$verb }$word
  done
  case $before in -[!-]*) before=-$before ;; esac
  words=$(_cortado_words "$verb $before")
  if [ -z "$words" ]; then
    words=$(_cortado_verbs "$verb")
    case $current in
      --*) words=$(_cortado_flags "$verb") ;;
      -*) words=$(_cortado_flags "$verb" | sed 's/--/-/g') ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _cortado cortado
)bash";

struct Cases {
  std::string verbs, flags, words;
};

std::string line(const std::string& name, const std::string& text) {
  return "    '" + name + "') echo '" + text + "' ;;\n";
}

/// The words in "TEXT:{a,b}", the name of the type of a flag that lists them; empty means that it lists none.
std::string words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{"), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string words = type.substr(begin + 2, end - begin - 2);
  for (char& letter : words)
    if (letter == ',') letter = ' ';
  return words;
}

void add(const CLI::App& app, const std::string& verb, Cases& cases) {
  std::string flags, verbs;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) {
      flags += (flags.empty() ? "--" : " --") + name;
      const std::string words = words_of(*option);
      if (!words.empty()) cases.words += line(verb + " --" + name, words);
    }
  cases.flags += line(verb, flags);
  for (const CLI::App* below : app.get_subcommands({})) {
    verbs += (verbs.empty() ? "" : " ") + below->get_name();
    add(*below, verb.empty() ? below->get_name() : verb + " " + below->get_name(), cases);
  }
  if (!verbs.empty()) cases.verbs += line(verb, verbs);
}

std::string function(const std::string& name, const std::string& lines) {
  return name + "() {\n  case $1 in\n" + lines + "  esac\n}\n";
}
}  // namespace

std::string bash_completion(const CLI::App& app) {
  Cases cases;
  add(app, "", cases);
  return "# bash's completion of cortado: eval \"$(cortado --bash-completion)\"\n" +
         function("_cortado_verbs", cases.verbs) + function("_cortado_flags", cases.flags) +
         function("_cortado_words", cases.words) + (completing + 1);
}

}  // namespace cortado
