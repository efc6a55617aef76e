#include "app/record/run_files.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/mistakes.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
const std::string run_ending = "_run.json", metrics_ending = "_metrics.jsonl";

bool has_ending(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::vector<std::string> runs_in(const std::string& folder) {
  std::vector<std::string> prefixes;
  std::error_code failure;
  for (auto entry = fs::directory_iterator(folder, failure); !failure && entry != fs::directory_iterator();
       entry.increment(failure)) {
    const std::string file = entry->path().string();
    if (has_ending(file, metrics_ending)) prefixes.push_back(file.substr(0, file.size() - metrics_ending.size()));
  }
  if (failure) throw FileError(folder, "cannot be read: " + failure.message());
  std::sort(prefixes.begin(), prefixes.end());
  return prefixes;
}
}  // namespace

std::string run_file(const std::string& prefix) { return prefix + run_ending; }
std::string metrics_file(const std::string& prefix) { return prefix + metrics_ending; }

bool is_run_file(const std::string& name) { return has_ending(name, run_ending) || has_ending(name, metrics_ending); }

std::string find_run(const std::string& name) {
  for (const std::string& ending : {run_ending, metrics_ending})
    if (has_ending(name, ending) && exists(name)) return name.substr(0, name.size() - ending.size());
  if (exists(metrics_file(name))) return name;
  constexpr const char* advice = "give a snapshot_prefix, or a file PREFIX_metrics.jsonl that cortado train wrote";
  if (kind_of(name) != FileKind::folder) throw FileError(name, "names no run: no " + metrics_file(name), advice);
  const auto runs = runs_in(name);
  if (runs.empty()) throw FileError(name, "has no run in it: no file *" + metrics_ending, advice);
  if (runs.size() > 1)
    throw FileError(
        name, "has " + std::to_string(runs.size()) + " runs in it",
        "give one of " +
            listed({runs.begin(), runs.begin() + std::min<long>(4, static_cast<long>(runs.size()))}, runs.size()));
  return runs[0];
}

}  // namespace cortado
