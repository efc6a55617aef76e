#pragma once
#include <sstream>
#include <string>

namespace cortado {

/// `debug` lines help only to search for a fault.
enum class Severity { debug, info, warning, error };

/// Opens the log on standard error with glog's line prefix, `I1120 13:39:22.381027 25210 solver.cpp:204] `, which
/// Caffe's log tools read. `silent` drops info and warnings (ranks other than 0). Debug lines appear where glog's
/// environment variable GLOG_v is 1 or more, and then from all ranks.
void open_log(bool silent);

/// While it lives, and if `quiet`, this thread's info and warnings are dropped: one core group speaks for all.
class QuietLog {
 public:
  explicit QuietLog(bool quiet);
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

 private:
  bool before_;
};

/// Writes one line. Thread-safe.
void log_line(Severity severity, const char* file, int line, const std::string& text);

/// Collects one line with `<<` and writes it when destroyed. Use through CORTADO_LOG.
class LogLine {
 public:
  LogLine(Severity severity, const char* file, int line) : severity_(severity), file_(file), line_(line) {}
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  ~LogLine() { log_line(severity_, file_, line_, text_.str()); }
  std::ostream& stream() { return text_; }

 private:
  Severity severity_;
  const char* file_;
  int line_;
  std::ostringstream text_;
};

}  // namespace cortado

/// CORTADO_LOG(info) << "Iteration " << n;  A macro, because the line carries its own file and line number.
#define CORTADO_LOG(severity) ::cortado::LogLine(::cortado::Severity::severity, __FILE__, __LINE__).stream()
