// A job whose ranks fail as the first argument says; job_test looks at how it ends.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "comm/exchange/bucket_allreduce.h"
#include "comm/job.h"
#include "comm/job_team.h"
#include "comm/wait/deadline.h"
#include "core/base/error.h"
#include "core/base/pulse.h"
#include "tests/support/backends.h"

namespace {
bool is_kept = false;  // by a library that never ends

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
  if (how == "alone" && last) throw FileError("list.txt", "is absent");  // what the others do not read
  if (how == "some") {
    if (job.rank() > 0 || job.size() == 1) throw std::runtime_error("disk full");
    meet();
  }
  if (how.rfind("stuck_", 0) == 0 && job.size() > 1) {  // the last rank is stopped, as by SIGSTOP from outside
    JobTeam team(job.replicas().communicator(), test::group_of("reference"));
    std::vector<float> values(100000, 1);
    const HostValues span{values.data(), 100000, Precision::fp32};
    const std::string in = how.substr(6);
    std::vector<i64> keys(1);
    if (last) std::raise(SIGSTOP);
    if (in == "sum") meet();
    if (in == "maximum") job.replicas().maximum(keys.data(), 1);
    if (in == "gather") job.gather("text");
    if (in == "buckets") BucketAllreduce(job.replicas().communicator(), test::group_of("reference"), {}, {}, "auto");
    if (in == "release") return 0;  // the end of the team
    if (in == "library_reduce") team.run(team.reduce("library", span.bytes()), span);
    if (in == "library_broadcast") team.run(team.broadcast("library", span.bytes()), span);
    if (in == "halving" || in == "circulant" || in == "ring_pipelined" || in == "two_level" || in == "library")
      team.run(team.allreduce(in, span.bytes()), span);
  }
  if (how.rfind("works", 0) == 0 && job.size() > 1) {  // for longer than the patience: others wait on
    std::vector<double> values(10000);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(4);
    while (last && std::chrono::steady_clock::now() < end) {
      pulse();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    job.replicas().sum(values.data(), how == "works_long" ? 10000 : 1);
  }
  if (how == "killed") {
    if (last) std::raise(SIGKILL);
    meet();
  }
  if (how == "late" || how == "kept_late") return 7;
  return 0;
}
}  // namespace

/// Stands before the library's: on rank 0 it does not return, and the others' end waits for that.
extern "C" int MPI_Finalize() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  while (is_kept && rank == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  return PMPI_Finalize();
}

/// failing_job HOW [PATIENCE]
int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  is_kept = how.rfind("kept", 0) == 0;
  if (argc > 2) cortado::set_patience(std::atof(argv[2]));
  const char* const rank = std::getenv("PMI_RANK");
  if (how == "start" && rank != nullptr && std::string(rank) == "1") std::raise(SIGSTOP);
  cortado::MpiJob job(&argc, &argv);
  const int code = job.run([&] { return work(job, how); }, 1);
  job.ends_program(code);
  if (how == "end" && job.rank() == 1) std::raise(SIGSTOP);
  return code;
}
