#pragma once
#include <string>

namespace cortado {

/// The style sheet of reports: light, dark where the reader's system is, and light on paper.
std::string report_style();

}  // namespace cortado
