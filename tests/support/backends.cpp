#include "tests/support/backends.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>

#include "app/session/backend.h"
#include "backends/reference/processor.h"
#include "core/base/error.h"
#include "programs/reference_all_programs.h"

namespace cortado::test {
namespace {
using Processors = std::map<std::string, std::unique_ptr<Processor>>;

std::unique_ptr<Processor> make_reference(int lanes) {
  reference::Options options;
  options.lanes = lanes;
  return reference::make_processor(options, reference::all_programs());
}

Processors make_all() {
  Processors all;
  all["reference"] = make_reference(1);
  all["lanes"] = make_reference(3);
  all["late"] = reference::make_processor(late_options(), reference::all_programs());
  auto built = make_processor();
  const std::string name = built->group(0).spec().name;
  if (name != "reference") all[name] = std::move(built);
  if (name == "sw26010") {
    BackendOptions successor;
    successor.machine = "sw26010pro";
    all[successor.machine] = make_processor(successor);
  }
  return all;
}

/// Backends that tests name one by one: each test body on them would take too long, unless they are configured.
bool is_extra(const std::string& name) { return name == "sw26010pro"; }

Processors& processors() {
  static Processors all = make_all();
  return all;
}
}  // namespace

std::string configured(const std::string& key) {
  const char* const text = std::getenv("CORTADO_CONFIGURATION");
  std::istringstream words(text != nullptr ? text : "");
  for (std::string word; words >> word;)
    if (word.rfind(key + "=", 0) == 0) return word.substr(key.size() + 1);
  return "";
}

reference::Options late_options() {
  reference::Options options;
  options.is_device = true;
  const std::string order = configured("order"), seed = configured("seed");
  if (order == "early") options.haste = reference::Haste::early;
  if (order == "any") options.haste = reference::Haste::any;
  if (!seed.empty()) options.seed = std::stoull(seed);
  return options;
}

const std::vector<std::string>& backend_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    const std::string wanted = configured("backend");
    for (const auto& entry : processors())
      if (wanted.empty() ? !is_extra(entry.first) : entry.first == wanted) result.push_back(entry.first);
    if (result.empty()) throw ConfigError("CORTADO_CONFIGURATION", "this build has no backend '" + wanted + "'");
    return result;
  }();
  return names;
}

const std::vector<std::string>& further_backends() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const auto& entry : processors())
      if (is_extra(entry.first) && configured("backend").empty()) result.push_back(entry.first);
    return result;
  }();
  return names;
}

CoreGroup& group_of(const std::string& backend) {
  const auto found = processors().find(backend);
  require(found != processors().end(), "a test names a backend of this build");
  return found->second->group(0);
}

}  // namespace cortado::test
