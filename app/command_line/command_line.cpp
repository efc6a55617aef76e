#include "app/command_line/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <iostream>

#include "app/build_info.h"
#include "app/command_line/caffe_words.h"
#include "app/command_line/completion.h"
#include "app/start/environment.h"
#include "app/verbs/verbs.h"
#include "core/base/error.h"

namespace cortado {
namespace {
/// A row of the table of verbs, with its place in the parser.
struct Entry {
  Entry(const VerbRow& row, CLI::App& command) : name(row.name), app(command), flags(command) {}

  std::string name;
  CLI::App& app;
  Flags flags;
  std::unique_ptr<Verb> verb;
};

/// "bench conv" stands below "bench", which is a row before it.
CLI::App& add_command(CLI::App& app, const VerbRow& row) {
  const std::string name = row.name;
  const std::size_t space = name.find(' ');
  CLI::App* const parent = space == std::string::npos ? &app : app.get_subcommand(name.substr(0, space));
  CLI::App* const command = parent->add_subcommand(name.substr(space == std::string::npos ? 0 : space + 1), row.what);
  if (row.make == nullptr) command->require_subcommand(1);
  return *command;
}
}  // namespace

Command parse_command_line(int count, char** arguments) {
  Command command;
  CLI::App app{"Cortado trains convolutional networks on many-core machines.", "cortado"};
  app.set_version_flag("--version", std::string("cortado ") + build_info::version);
  app.add_flag("--bash-completion", "Print a script by which bash completes verbs, flags and their words");
  app.require_subcommand(1);
  std::deque<Entry> entries;
  for (const VerbRow& row : verbs()) {
    CLI::App& place = add_command(app, row);
    if (row.make == nullptr) continue;
    Entry& entry = entries.emplace_back(row, place);
    entry.verb = row.make();
    entry.verb->add_to(entry.flags);
    entry.flags
        .add("--patience", command.patience, "Under mpirun: seconds without progress after which a wait ends the job")
        .shows_default()
        .positive();
  }
  if (count == 2 && arguments[1] == std::string("--bash-completion")) {
    if (launched_rank() == 0) std::cout << bash_completion(app);
    return command;
  }
  std::vector<std::string> words = settle_words(app, caffe_words(count, arguments, command.notes), command.notes);
  std::reverse(words.begin(), words.end());  // CLI11 takes them last first
  try {
    app.parse(words);
  } catch (const CLI::Success& wanted) {  // --help, --version
    if (launched_rank() == 0) app.exit(wanted);
    return command;
  } catch (const CLI::ParseError& error) { throw ConfigError("command line", error.what(), "see cortado --help"); }
  for (Entry& entry : entries) {
    if (!entry.app.parsed()) continue;
    command.name = entry.name;
    command.verb = std::move(entry.verb);
    command.given = entry.flags.given();
    command.add_fields = entry.flags.add_fields();
  }
  return command;
}

}  // namespace cortado
