#include "core/base/printable.h"

#include <cstdio>

namespace cortado {
namespace {
/// Bytes of the character of UTF-8 that begins at `at`; 0: none does, or it is an overlong form or a surrogate.
std::size_t length_of_character(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0U) != 0x80) return 0;
  const unsigned second = byte(at + 1);
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_no_character = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return is_overlong || is_no_character ? 0 : length;
}

/// C0 but the tab, DEL, and C1, which some terminals obey as they do escape sequences.
bool is_control(const std::string& text, std::size_t at, std::size_t length) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (length == 1) return (first < 0x20 && first != '\t') || first == 0x7F;
  return length == 2 && first == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;
}
}  // namespace

std::string printable(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_character(text, at);
    if (length > 0 && !is_control(text, at, length)) {
      out.append(text, at, length);
      at += length;
      continue;
    }
    if (text[at] == '\n') {
      out += "\\n";
      ++at;
      continue;
    }
    for (const std::size_t end = at + (length > 0 ? length : 1); at < end; ++at) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02X", static_cast<unsigned char>(text[at]));
      out += code;
    }
  }
  return out;
}

}  // namespace cortado
