#include "core/solver/snapshot_files.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/error.h"
#include "core/solver/state_file.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
constexpr const char* between = "_iter_";

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

/// N of PREFIX_iter_N.solverstate[.h5], by its name without folders; -1 for another name.
long iteration_of(const std::string& file, const std::string& prefix) {
  const std::string start = prefix + between;
  if (!starts_with(file, start)) return -1;
  const std::size_t digits = file.find_first_not_of("0123456789", start.size());
  if (digits == start.size() || digits == std::string::npos || digits > start.size() + 10) return -1;
  const std::string extension = file.substr(digits);
  if (extension != ".solverstate" && extension != ".solverstate.h5") return -1;
  return std::stol(file.substr(start.size(), digits - start.size()));
}

void remove(const std::string& file) {
  std::error_code ignored;  // of another owner, or gone: then it stays as it is
  fs::remove(file, ignored);
}
}  // namespace

std::string snapshot_name(const std::string& prefix, long iteration) {
  return prefix + between + std::to_string(iteration);
}
std::string best_name(const std::string& prefix) { return prefix + "_best"; }

std::vector<std::string> states_of(const std::string& prefix) {
  const fs::path folder = fs::path(prefix).parent_path();
  const std::string start = fs::path(prefix).filename().string();
  std::multimap<long, std::string, std::greater<>> by_iteration;
  std::error_code failure;
  for (auto entry = fs::directory_iterator(folder.empty() ? fs::path(".") : folder, failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    const long iteration = iteration_of(name, start);
    if (iteration >= 0) by_iteration.emplace(iteration, (folder / name).string());
  }
  if (failure && failure != std::errc::no_such_file_or_directory)
    throw FileError(folder.string(), "cannot be read: " + failure.message());
  std::vector<std::string> states;
  for (const auto& [iteration, state] : by_iteration) states.push_back(state);
  for (const char* extension : {".solverstate", ".solverstate.h5"})
    if (fs::exists(best_name(prefix) + extension, failure)) states.push_back(best_name(prefix) + extension);
  return states;
}

i64 newest_iteration(const std::string& prefix) {
  try {
    const auto states = states_of(prefix);
    return states.empty() ? -1
                          : iteration_of(fs::path(states[0]).filename().string(), fs::path(prefix).filename().string());
  } catch (const FileError&) { return -1; }
}

std::string residuals_file(const std::string& state_file, int rank) {
  return state_file + ".residuals." + std::to_string(rank);
}

void delete_snapshot(const std::string& state_file, int rank) {
  if (rank == 0) {
    remove(state_file);
    remove(places_of_weights({}, state_file).front());
    remove(average_file(state_file));
  }
  remove(residuals_file(state_file, rank));
}

std::vector<std::string> own_states(const std::vector<std::string>& kept, const std::string& state_file,
                                    const std::string& prefix) {
  const auto is_ours = [&](const std::string& file) {
    return starts_with(file, prefix + between) &&
           iteration_of(fs::path(file).filename().string(), fs::path(prefix).filename().string()) >= 0;
  };
  std::vector<std::string> own;
  if (!is_ours(state_file) && !starts_with(state_file, best_name(prefix) + ".")) return own;
  std::error_code failure;
  const auto written = fs::last_write_time(state_file, failure);
  for (const std::string& file : kept) {
    const auto time = fs::last_write_time(file, failure);
    if (is_ours(file) && !failure && time <= written) own.push_back(file);
  }
  return own;
}

}  // namespace cortado
