#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "app/command_line/command_line.h"
#include "app/start/environment.h"
#include "app/start/log_header.h"
#include "app/start/signal_actions.h"
#include "app/start/start_fields.h"
#include "comm/wait/deadline.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/net/name_memory.h"
#include "parallel_io/sets/image.h"

namespace cortado {
namespace {
/// Throws an error with the reason unless all output has gone to standard output.
void end_output() {
  const bool is_whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (is_whole) return;
  // The write that failed may be long ago: one more byte fails for the same reason, if it still holds.
  errno = 0;
  const bool fails = write(STDOUT_FILENO, "\n", 1) < 0;
  throw FileError("standard output",
                  std::string("cannot be written: ") + (fails ? std::strerror(errno) : "a write failed on the way"),
                  "what was printed is not whole");
}

/// The exit code after --help or --version, which start no MPI.
int end_help() {
  try {
    end_output();
  } catch (const Error& error) {
    CORTADO_LOG(error) << error.what();
    return 1;
  }
  return 0;
}
}  // namespace
}  // namespace cortado

int main(int count, char** arguments) {
  using namespace cortado;
  hold_signals();
  outlive_failed_writes();
  Command command;
  std::exception_ptr mistake;  // told in the job, which says it once for all ranks
  try {
    command = parse_command_line(count, arguments);
    if (!command.verb) return end_help();
  } catch (const Error&) { mistake = std::current_exception(); }
  settle_environment(arguments);
  set_patience(command.patience);
  const bool handles_signals = command.verb && command.verb->handles_signals();
  await_signals(handles_signals, false);
  MpiJob job(&count, &arguments);
  await_signals(handles_signals, true);
  open_log(job.rank() != 0);
  const int end = job.run([&] {
    if (mistake) std::rethrow_exception(mistake);
    log_header(job, arguments);
    for (const auto& note : command.notes) CORTADO_LOG(warning) << note;
    int code = 0;
    naming_memory("", [&] {
      agree_on_start(job, command);
      code = command.verb->run(job);
    });
    report_damaged_images(job.gather(damaged_images()));
    end_output();
    return code;
  });
  job.ends_program(end);
  return end;
}
