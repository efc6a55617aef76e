// A job whose ranks fail as the first argument says; job_test looks at how it ends.
#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/job.h"
#include "comm/job_team.h"
#include "core/base/error.h"
#include "tests/support/backends.h"

namespace {
int work(const cortado::MpiJob& job, const std::string& how) {
  using namespace cortado;
  const bool last = job.rank() == job.size() - 1;
  const auto meet = [&] {  // what healthy ranks do: wait for the failed one
    double value = 1;
    job.replicas().sum(&value, 1);
  };
  if (how == "nobody") meet();
  if (how == "everybody") throw ConfigError("net.prototxt:3", "unknown layer");
  if (how == "root") {
    if (job.rank() == 0) throw FileError("weights", "are absent");
    throw PeerError("rank 0", "weights: are absent");
  }
  if (how == "one") {
    if (last) throw NumericError("layer 'conv1'", "NaN");
    meet();
  }
  if (how == "some") {
    if (job.rank() > 0 || job.size() == 1) throw std::runtime_error("disk full");
    meet();
  }
  if (how.rfind("stuck_", 0) == 0 && job.size() > 1) {  // the last rank is stopped, as by SIGSTOP from outside
    JobTeam team(job.replicas().communicator(), test::group_of("reference"), {}, 1);
    std::vector<float> values(100000, 1);
    const Span span{values.data(), 100000, Precision::fp32};
    if (last) std::raise(SIGSTOP);
    team.run(team.allreduce(how.substr(6), span.bytes()), span);
  }
  if (how == "killed") {
    if (last) std::raise(SIGKILL);
    meet();
  }
  if (how == "late") return 7;
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  cortado::MpiJob job(&argc, &argv);
  return job.run([&] { return work(job, argc > 1 ? argv[1] : ""); }, 1);
}
