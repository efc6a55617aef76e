#include "app/plots/svg.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
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

std::string without_middle(const std::string& text, std::size_t letters) {
  if (text.size() <= letters) return text;
  const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80; };
  std::size_t end = (letters - 1) / 2, next = text.size() - letters / 2;
  while (end > 0 && is_inside(end)) --end;  // no half of a character
  while (next < text.size() && is_inside(next)) ++next;
  return text.substr(0, end) + "…" + text.substr(next);
}

std::string place(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string figure(double value) {
  const double size = std::abs(value);
  const bool is_whole = size >= 1000 && size < 1e15 && value == std::floor(value);
  return is_whole || (size >= 1000 && size < 1e6) ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string count_text(double value) {
  const char* unit = "";
  for (const char* next : {" k", " M", " G"}) {
    if (std::abs(value) < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.3g}{}", value, unit);
}

std::string duration_text(double seconds) {
  const long whole = std::lround(seconds);
  if (seconds < 0.95) return fmt::format("{:.2g} s", seconds);
  if (whole < 60) return fmt::format("{:.{}f} s", seconds, seconds < 9.95 ? 1 : 0);
  return whole < 3600 ? fmt::format("{} min {} s", whole / 60, whole % 60)
                      : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace cortado
