#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace cortado {

/// A JSON text with the lines where its fields stand, by their paths, such as "inside.latency_us".
struct JsonWithLines {
  nlohmann::json value;
  std::map<std::string, int> lines;
};

/// Throws ConfigError naming the line of what is no JSON, or of a field that stands twice.
JsonWithLines parse_with_lines(const std::string& text, const std::string& file);

}  // namespace cortado
