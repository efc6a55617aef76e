#include "app/plots/svg.h"

#include <cmath>
#include <cstdio>
#include <sstream>

#include "core/base/printable.h"

namespace cortado {

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string xml_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += xml_text(line) + "\n";
  return out;
}

std::string place(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", value);
  std::string shorter = text;
  if (shorter.size() > 2 && shorter.compare(shorter.size() - 2, 2, ".0") == 0) shorter.resize(shorter.size() - 2);
  return shorter == "-0" ? "0" : shorter;
}

std::string figure(double value) {
  char text[40];
  const double size = std::abs(value);
  if (size >= 1000 && size < 1e15 && value == std::floor(value))
    std::snprintf(text, sizeof text, "%.0f", value);
  else
    std::snprintf(text, sizeof text, size >= 1000 && size < 1e6 ? "%.0f" : "%.4g", value);
  return text;
}

std::string count_text(double value) {
  const char* unit = "";
  for (const char* next : {" k", " M", " G"}) {
    if (std::abs(value) < 999.5) break;
    value /= 1000;
    unit = next;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text + std::string(unit);
}

std::string duration_text(double seconds) {
  char text[60];
  const long whole = std::lround(seconds);
  if (whole < 60)
    std::snprintf(text, sizeof text, seconds < 0.95 ? "%.2g s" : seconds < 9.95 ? "%.1f s" : "%.0f s", seconds);
  else if (whole < 3600)
    std::snprintf(text, sizeof text, "%ld min %ld s", whole / 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%ld h %ld min", whole / 3600, whole / 60 % 60);
  return text;
}

}  // namespace cortado
