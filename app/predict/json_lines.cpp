#include "app/predict/json_lines.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "core/base/error.h"

namespace cortado {
namespace {
using nlohmann::json;

/// Goes through a text once and counts its lines.
class Characters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Characters(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  Characters& operator++() {
    *line_ += *at_ == '\n' ? 1 : 0;
    ++at_;
    return *this;
  }
  bool operator==(const Characters& other) const { return at_ == other.at_; }
  bool operator!=(const Characters& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int* line_;
};
}  // namespace

JsonWithLines parse_with_lines(const std::string& text, const std::string& file) {
  JsonWithLines result;
  int line = 1;
  std::vector<std::string> names;  // of the objects around a field, and its own; empty for lists
  const auto note = [&](int depth, json::parse_event_t event, const json& parsed) {
    if (event != json::parse_event_t::key) return true;
    names.resize(static_cast<std::size_t>(depth) - 1);
    names.push_back(parsed.get<std::string>());
    std::string path;
    for (const auto& name : names) path += (path.empty() ? "" : ".") + name;
    const bool in_list = std::find(names.begin(), names.end(), "") != names.end();
    const bool is_new = result.lines.emplace(path, line).second;
    if (!is_new && !in_list)
      throw ConfigError(file + ":" + std::to_string(line) + ", field '" + path + "'",
                        "stands in line " + std::to_string(result.lines[path]) + " too", "keep one of them");
    return true;
  };
  try {
    result.value = json::parse(Characters(text.data(), &line), Characters(text.data() + text.size(), &line), note);
  } catch (const json::exception& error) { throw ConfigError(file, std::string("is no JSON: ") + error.what()); }
  return result;
}

}  // namespace cortado
