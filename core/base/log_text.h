#pragma once
#include <string>

#include "core/base/log.h"

namespace cortado {

/// Writes a log line and, without prefixes, lines of text below it, which must not hold line ends of others' making.
void log_text(Severity severity, const char* file, int line, const std::string& title, const std::string& text);

}  // namespace cortado
