#include "comm/job.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "comm/launcher.h"
#include "comm/mpi_library.h"
#include "comm/node_cpus.h"
#include "comm/wait/calls.h"
#include "comm/wait/wait.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mistakes.h"

namespace cortado {
namespace {
using namespace std::chrono_literals;

/// True if the request completes within that time. Meanwhile it answers ranks that ask, so that none takes it for the
/// stopped one.
bool completes(MPI_Request& request, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return true;
    if (RollCall* const others = RollCall::of_job()) others->answer("the end of the job, which has failed", false);
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
}

/// See MpiJob::own_cpus. A launcher that binds ranks gives each a set of its own; one that does not gives all the same.
/// 0: there are more ranks than CPUs.
int count_own_cpus(const std::vector<CpuSet>& all, int rank) {
  const CpuSet& mine = all[static_cast<std::size_t>(rank)];
  return mine.count() / static_cast<int>(std::count(all.begin(), all.end(), mine));
}
}  // namespace

MpiJob::Library::Library(int* argc, char*** argv) {
  int running = 0, has_ended = 0;
  MPI_Initialized(&running);
  MPI_Finalized(&has_ended);
  if (has_ended != 0)
    throw ConfigError("MPI", "has ended, and starts once in a process",
                      "keep one MpiJob for the whole program, and call MPI_Finalize behind it");
  if (running != 0) return;
  start_library(argc, argv, MPI_THREAD_MULTIPLE);  // for exchanges beside backward; asked for there
  ours = true;
}

MpiJob::Library::~Library() {
  if (ours) end_library(code);
}

MpiJob::MpiJob(int* argc, char*** argv)
    : library_(argc, argv), roll_call_(MPI_COMM_WORLD), replicas_(MPI_COMM_WORLD), errors_(duplicate(MPI_COMM_WORLD)) {
  MPI_Comm node = split_by_node(MPI_COMM_WORLD);
  MPI_Comm_rank(node, &local_rank_);
  MPI_Comm_size(node, &local_size_);
  const std::vector<CpuSet> cpus_of = cpus_of_ranks(node);
  const int cpus = count_own_cpus(cpus_of, local_rank_);
  crowding_ = crowding_of(cpus_of, HostTopology::here().cpus());
  own_processor(cpus > 0);
  own_cpus_ = std::max(1, cpus);
  release(node);
  // Who blocks keeps its processor busy: where ranks share processors, waits of our own are faster.
  int threads = MPI_THREAD_SINGLE;
  MPI_Query_thread(&threads);
  int watched = cpus > 0 && threads == MPI_THREAD_MULTIPLE && patience() > 0 ? 1 : 0;
  all_reduce(MPI_COMM_WORLD, "processors of the job", &watched, 1, MPI_INT, MPI_MIN);
  if (size() > 1 && watched != 0)
    watchdog_ = std::make_unique<Watchdog>([this](const std::string& error) {
      fail({error}, Failure::of_wait, 0);
      end_job(1);
    });
}

MpiJob::~MpiJob() { release(errors_); }

std::string MpiJob::host() const {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(name, &length);
  return {name, static_cast<std::size_t>(length)};
}

std::vector<std::string> MpiJob::gather(const std::string& text) const {
  return cortado::gather(MPI_COMM_WORLD, "collective 'gather'", text);
}

void MpiJob::ends_program(int code) { library_.code = code; }

int MpiJob::run(const std::function<int()>& work, double grace_seconds) {
  try {
    check_launcher(size(), mpi_library());
    const int code = work();
    return everybody_succeeds() ? code : 1;
  } catch (const PeerError& error) {
    return fail({error.what()}, Failure::of_peer, grace_seconds);
  } catch (const WaitError& error) {
    return fail({error.what()}, Failure::of_wait, 0);  // somebody will not come
  } catch (const std::exception& error) { return fail(lines_of(error), Failure::own, grace_seconds); }
}

MpiJob::Verdict::Verdict(int key, int ranks, MPI_Comm communicator) : ranks_(ranks) {
  extremes_[0] = key;
  extremes_[1] = -key;
  MPI_Iallreduce(MPI_IN_PLACE, extremes_, 2, MPI_INT, MPI_MIN, communicator, &request);
}

bool MpiJob::everybody_succeeds() {
  verdict_ = std::make_unique<Verdict>(rank() + 2 * size(), size(), errors_);
  Wait wait(errors_, "the end of the job");
  complete(verdict_->request, wait);
  return verdict_->speaker() >= 2 * size();
}

int MpiJob::fail(const std::vector<std::string>& lines, Failure failure, double grace_seconds) {
  // The smallest key speaks; peers of the failed one only if nobody else.
  const int key = rank() + (failure == Failure::of_peer ? size() : 0);
  Verdict verdict(key, size(), errors_);
  // Where several ranks fail but not all, the lowest should speak and then end the job before the next one speaks.
  const double turn = 0.25 * std::min(rank(), 20);
  const bool all_are_there = completes(verdict.request, grace_seconds + turn);
  const std::string whose = all_are_there && verdict.all_fail() ? "" : "rank " + std::to_string(rank()) + ": ";
  if (!all_are_there || verdict.speaker() == key)
    for (const auto& line : lines) CORTADO_LOG(error) << whose << line;
  if (all_are_there) return 1;
  end_job(1);
}

}  // namespace cortado
