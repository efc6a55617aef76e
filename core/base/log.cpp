#include "core/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>

#include "core/base/log_level.h"
#include "core/base/log_text.h"
#include "core/base/printable.h"

namespace cortado {
namespace {
spdlog::level::level_enum level_of(Severity severity) {
  switch (severity) {
    case Severity::debug: return spdlog::level::debug;
    case Severity::info: return spdlog::level::info;
    case Severity::warning: return spdlog::level::warn;
    case Severity::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

thread_local bool quiet_thread = false;

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = spdlog::stderr_logger_mt("cortado");
    const std::string line = "%L%m%d %T.%f %t %s:%#] %v";
    // On a terminal a line takes the place of a progress bar that stands there.
    made->set_pattern(isatty(STDERR_FILENO) != 0 ? "\r\033[K" + line : line);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}
}  // namespace

void open_log(bool silent) {
  const char* const verbosity = std::getenv("GLOG_v");
  const bool debug = verbosity != nullptr && std::atoi(verbosity) > 0;
  logger().set_level(debug ? spdlog::level::debug : silent ? spdlog::level::err : spdlog::level::info);
}

void set_log_level(Severity least) { logger().set_level(level_of(least)); }

QuietLog::QuietLog(bool quiet) : before_(quiet_thread) { quiet_thread = before_ || quiet; }
QuietLog::~QuietLog() { quiet_thread = before_; }

void log_line(Severity severity, const char* file, int line, const std::string& text) {
  if (quiet_thread && severity != Severity::error) return;
  logger().log(spdlog::source_loc{file, line, ""}, level_of(severity), spdlog::string_view_t(printable(text)));
}

void log_text(Severity severity, const char* file, int line, const std::string& title, const std::string& text) {
  if (quiet_thread && severity != Severity::error) return;
  std::string whole = printable(title);
  std::istringstream lines(text);
  for (std::string next; std::getline(lines, next);) whole += "\n" + printable(next);
  logger().log(spdlog::source_loc{file, line, ""}, level_of(severity), spdlog::string_view_t(whole));
}

}  // namespace cortado
