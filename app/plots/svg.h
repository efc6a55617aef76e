#pragma once
#include <string>

namespace cortado {

/// Text for the inside of an element of XML or HTML, or of an attribute in double quotes. Bytes that no terminal should
/// see are made visible (printable).
std::string xml_text(const std::string& text);
/// The same, but with its lines.
std::string xml_lines(const std::string& text);

/// The text without its middle, so that it has no more letters. Names often differ at their ends.
std::string without_middle(const std::string& text, std::size_t letters);

/// A place in a picture: one digit after the point is enough.
std::string place(double value);
/// A number for people, with four digits that count: "0.01234", "1.5e-05", "1234".
std::string figure(double value);
/// A count for people, with three digits that count: "60", "1.2 k", "138 M".
std::string count_text(double value);
/// A duration for people: "12 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace cortado
