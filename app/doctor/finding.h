#pragma once
#include <string>
#include <vector>

namespace cortado::doctor {

/// The three results of a check, from good to bad.
enum class Grade { ok, warning, failure };

/// One line of `cortado doctor`.
struct Finding {
  Grade grade = Grade::ok;
  std::string topic;   ///< "binding"
  std::string what;    ///< what was found, with the ranks or nodes where it holds
  std::string advice;  ///< what to do; empty for `ok`
};

/// The exit code for findings: 0 where all are OK, 2 for warnings alone, 3 where there is a failure. 1 is left to
/// errors.
int exit_code(const std::vector<Finding>& findings);

/// "OK", "warning", "FAILURE".
const char* word_of(Grade grade);

/// A line for each finding, with the advice on a line of its own, and a line that counts them.
std::string table_of(const std::vector<Finding>& findings);

}  // namespace cortado::doctor
