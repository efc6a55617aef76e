#include "app/environment.h"
#include "app/session.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace cortado {
namespace {
int run_verb(const MpiJob& job, const Options& options) {
  if (options.verb.empty()) return 0;  // --help and --version have printed
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
}  // namespace
}  // namespace cortado

int main(int count, char** arguments) {
  cortado::settle_environment(arguments);
  cortado::MpiJob job(&count, &arguments);
  cortado::open_log(job.rank() != 0);
  return job.run([&] { return cortado::run_verb(job, cortado::parse_command_line(count, arguments)); });
}
