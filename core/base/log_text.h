#pragma once
#include <string>

#include "core/base/log.h"

namespace cortado {

/// Writes a log line and, below it, lines of text without prefixes. The text must not hold line ends of foreign origin.
void log_text(Severity severity, const char* file, int line, const std::string& title, const std::string& text);

}  // namespace cortado
