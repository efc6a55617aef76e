#pragma once
#include <string>

namespace cortado {

/// The style sheet of reports: light, dark where the reader's system is, and light on paper.
std::string report_style();

/// The style sheet of a picture of plots (sheet_of), light, without variables.
std::string picture_style();

}  // namespace cortado
