#pragma once
#include <string>

namespace cortado {

/// The names of a run's record, beside its snapshots: PREFIX_run.json and PREFIX_metrics.jsonl.
std::string run_file(const std::string& prefix);
std::string metrics_file(const std::string& prefix);

/// True for a name that ends as one of these does.
bool is_run_file(const std::string& name);

/// The prefix of the run that a user names: by its prefix, by one of its two files, or by a folder with one run in it.
/// Throws FileError where there is none, or several.
std::string find_run(const std::string& name);

}  // namespace cortado
