#pragma once
#include <string>
#include <vector>

#include "core/base/error.h"

namespace cortado {

/// The mistakes of one file, all found in one run. what() has a line per kind of mistake, each printable().
class Mistakes : public ConfigError {
 public:
  /// `count` is the number of mistakes if lines stand for several.
  explicit Mistakes(const std::vector<std::string>& lines, std::size_t count = 0);

  const std::vector<std::string>& lines() const { return lines_; }
  std::size_t count() const { return count_; }

 private:
  const std::vector<std::string> lines_;
  const std::size_t count_;
};

/// The lines of a text.
std::vector<std::string> lines_in(const std::string& text);

/// The lines that the log has of an error: those of Mistakes, or what() as one.
std::vector<std::string> lines_of(const std::exception& error);

/// A list as text: "3, 5, 8", or "3, 5, 8, 9 and 20 more" if `total` is more than those in `some`.
std::string listed(const std::vector<std::string>& some, std::size_t total);

}  // namespace cortado
