// The table of verbs, and what holds for the flags of all.
#include "app/verbs/verbs.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <set>
#include <string>

namespace cortado::verbs_test {
namespace {
using Names = std::set<std::string>;

/// The flags of a verb that ranks compare in a way.
Names flags_of(const VerbRow& row, Compared compared) {
  CLI::App app;
  Flags flags(app);
  const auto verb = row.make();
  verb->add_to(flags);
  const auto names = flags.names(compared);
  return {names.begin(), names.end()};
}

TEST(Verbs, NamesAreUniqueAndStandBelowARowThatGathers) {
  std::set<std::string> names, gathering;
  for (const VerbRow& row : verbs()) {
    const std::string name = row.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    if (row.make == nullptr) gathering.insert(name);
    const auto space = name.find(' ');
    if (space != std::string::npos) { EXPECT_EQ(gathering.count(name.substr(0, space)), 1U) << name; }
  }
}

/// A flag that ranks do not compare is a way to train different nets without a word: each is here for a reason.
TEST(Verbs, RanksCompareAllFlagsButTheirOwn) {
  const Names of_machine = {"--devices", "--json", "--profile"};
  for (const VerbRow& row : verbs()) {
    if (row.make == nullptr) continue;
    Names may_differ = of_machine;
    if (row.name == std::string("predict")) may_differ.erase("--devices");  // what is asked for
    if (row.name == std::string("doctor")) may_differ.insert("--solver");   // differences are its findings
    for (const std::string& flag : flags_of(row, Compared::never))
      EXPECT_EQ(may_differ.count(flag), 1U) << row.name << " " << flag;
  }
}

/// Ranks may keep files under different paths: what lies there is compared, not the path.
TEST(Verbs, RanksCompareFilesThatAreRead) {
  const Names read = {"--solver", "--model",   "--weights", "--snapshot",  "--tuning", "--topology",
                      "--rules",  "--machine", "--labels",  "--mean_file", "from",     "images"};
  for (const VerbRow& row : verbs()) {
    if (row.make == nullptr) continue;
    for (const std::string& flag : flags_of(row, Compared::text)) {
      const bool is_switch = row.name == std::string("upgrade") && flag == "--solver";
      EXPECT_TRUE(is_switch || read.count(flag) == 0) << row.name << " " << flag;
    }
  }
}
}  // namespace
}  // namespace cortado::verbs_test
