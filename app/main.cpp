#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "app/session/session.h"
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
int run_verb(const MpiJob& job, const Options& options) {
  agree_on_start(job, options);
  if (options.verb == "convert") return convert(job, options);
  if (options.verb == "upgrade") return upgrade(job, options);
  Session session(job, options);
  if (options.verb == "train") return train(session, options);
  if (options.verb == "test") return test(session, options);
  if (options.verb == "time") return time(session, options);
  if (options.verb == "tune") return tune(session, options);
  if (options.verb == "predict") return predict(session, options);
  if (options.verb == "bench") return bench(session, options);
  if (options.verb == "check") return check(session, options);
  if (options.verb == "classify") return classify(session, options);
  if (options.verb == "extract") return extract(session, options);
  if (options.verb == "draw") return draw(session, options);
  if (options.verb == "compare") return compare(session, options);
  return device_query(session, options);
}

/// What went to standard output is there, or an error says why not.
void end_output() {
  const bool is_whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (!is_whole)
    throw FileError("standard output", std::string("cannot be written: ") + std::strerror(errno),
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
  Options options;
  std::exception_ptr mistake;  // told in the job, which says it once for all ranks
  try {
    options = parse_command_line(count, arguments);
    if (options.verb.empty()) return end_help();
  } catch (const Error&) { mistake = std::current_exception(); }
  settle_environment(arguments);
  set_patience(options.patience);
  const bool trains = options.verb == "train";
  await_signals(trains, false);
  MpiJob job(&count, &arguments);
  await_signals(trains, true);
  open_log(job.rank() != 0);
  return job.run([&] {
    if (mistake) std::rethrow_exception(mistake);
    log_header(job, arguments);
    for (const auto& note : options.notes) CORTADO_LOG(warning) << note;
    int code = 0;
    naming_memory("", [&] { code = run_verb(job, options); });
    report_damaged_images();
    end_output();
    return code;
  });
}
