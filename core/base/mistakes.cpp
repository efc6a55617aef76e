#include "core/base/mistakes.h"

#include <algorithm>
#include <sstream>

#include "core/base/printable.h"

namespace cortado {
namespace {
std::vector<std::string> made_printable(std::vector<std::string> lines) {
  std::transform(lines.begin(), lines.end(), lines.begin(), printable);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const auto& line : lines) all += (all.empty() ? "" : "\n") + line;
  return all;
}
}  // namespace

Mistakes::Mistakes(const std::vector<std::string>& lines, std::size_t count)
    : ConfigError("", joined(made_printable(lines))),
      lines_(made_printable(lines)),
      count_(std::max(count, lines.size())) {}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> lines_of(const std::exception& error) {
  const auto* const mistakes = dynamic_cast<const Mistakes*>(&error);
  return mistakes != nullptr ? mistakes->lines() : std::vector<std::string>{error.what()};
}

std::string listed(const std::vector<std::string>& some, std::size_t total) {
  std::string text;
  for (const auto& name : some) text += (text.empty() ? "" : ", ") + name;
  return total > some.size() ? text + " and " + std::to_string(total - some.size()) + " more" : text;
}

}  // namespace cortado
