#include "app/doctor/finding.h"

#include <algorithm>

#include "core/base/printable.h"

namespace cortado::doctor {
namespace {
std::string filled(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

std::size_t count_of(const std::vector<Finding>& findings, Grade grade) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.grade == grade; }));
}
}  // namespace

int exit_code(const std::vector<Finding>& findings) {
  if (count_of(findings, Grade::failure) > 0) return 3;
  return count_of(findings, Grade::warning) > 0 ? 2 : 0;
}

const char* word_of(Grade grade) {
  switch (grade) {
    case Grade::ok: return "OK";
    case Grade::warning: return "warning";
    case Grade::failure: return "FAILURE";
  }
  return "?";
}

std::string table_of(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& one : findings) width = std::max(width, one.topic.size());
  std::string text;
  for (const Finding& one : findings) {
    const std::string before = filled(word_of(one.grade), 9) + filled(one.topic, width + 2);
    text += before + printable(one.what) + "\n";
    if (!one.advice.empty()) text += std::string(before.size(), ' ') + "-> " + printable(one.advice) + "\n";
  }
  const auto counted = [&](Grade grade, const char* one, const char* several) {
    const std::size_t count = count_of(findings, grade);
    return std::to_string(count) + (count == 1 ? one : several);
  };
  return text + counted(Grade::ok, " line is OK, ", " lines are OK, ") +
         counted(Grade::warning, " warning, ", " warnings, ") + counted(Grade::failure, " failure\n", " failures\n");
}

}  // namespace cortado::doctor
