#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi_replicas.h"
#include "comm/wait/roll_call.h"
#include "comm/wait/watchdog.h"

namespace cortado {

/// This process's part in an MPI job. It knows the ranks, and stops all of them when one fails. There is one at a time.
/// It starts and ends MPI, unless MPI runs already: then the program ends MPI, after this. A program started without
/// mpirun is a job of one rank.
class MpiJob {
 public:
  /// main's arguments, which MPI may change; nullptr means none. Throws ConfigError where MPI has ended: it does not
  /// start twice. Collective.
  explicit MpiJob(int* argc = nullptr, char*** argv = nullptr);
  ~MpiJob();
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  const MpiReplicas& replicas() const { return replicas_; }
  int rank() const { return replicas_.rank(); }
  int size() const { return replicas_.size(); }
  int local_rank() const { return local_rank_; }  ///< number among the ranks that share this node's memory
  int local_size() const { return local_size_; }
  std::string host() const;  ///< name of this node

  /// Gathers every rank's text, in order of ranks, on rank 0; the others get nothing. Collective.
  std::vector<std::string> gather(const std::string& text) const;
  /// The number of CPUs that this rank has to itself, at least 1. It shares the CPUs on which it may run with the ranks
  /// of the node that may run on just the same ones.
  int own_cpus() const { return own_cpus_; }
  /// Says which ranks of this node crowd on a few of its CPUs (crowding_of). Empty means none.
  const std::string& crowding() const { return crowding_; }

  /// Runs `work` on this rank. Returns the exit code of the process: the result of `work`, or 1 when it throws.
  ///
  /// A mistake that every rank finds within `grace_seconds` is printed once, by the lowest rank that has more to say
  /// than PeerError. A failure of some ranks only is printed as "rank k: ...". The others' exit code is 1 too if they
  /// have done their work. Otherwise the job ends and run does not return, since ranks would wait for the failed one
  /// for ever. Processes that another MPI library's launcher started, each a job of one rank, fail before any work.
  int run(const std::function<int()>& work, double grace_seconds = 2);
  /// Tells that the program ends with this job: after it, main only returns `code`. So a library whose MPI_Finalize
  /// does not return cannot keep the process, nor change its exit code, once all ranks have done their work.
  void ends_program(int code);

 private:
  enum class Failure { own, of_peer, of_wait };
  /// The ends of all ranks together. Each rank gives its number, plus the number of ranks if a peer's failure ends it,
  /// plus twice that if it succeeds.
  class Verdict {
   public:
    Verdict(int key, int ranks, MPI_Comm communicator);
    int speaker() const { return extremes_[0]; }  ///< the smallest key
    bool all_fail() const { return -extremes_[1] < 2 * ranks_; }
    MPI_Request request = MPI_REQUEST_NULL;

   private:
    int extremes_[2], ranks_;
  };
  /// Waits for the others' ends. Returns true if all succeed. Throws WaitError.
  bool everybody_succeeds();
  int fail(const std::vector<std::string>& lines, Failure failure, double grace_seconds);

  struct Library {  // MPI itself; a member, so that it starts before the other members and ends after them
    Library(int* argc, char*** argv);
    ~Library();
    bool ours = false;
    std::optional<int> code;  // ends_program's
  } library_;
  RollCall roll_call_;
  std::unique_ptr<Watchdog> watchdog_;
  MpiReplicas replicas_;
  MPI_Comm errors_ = MPI_COMM_NULL;   // failures are counted apart from the work's messages
  std::unique_ptr<Verdict> verdict_;  // success's; MPI may write into it after a wait in vain
  int local_rank_ = 0, local_size_ = 1, own_cpus_ = 1;
  std::string crowding_;
};

}  // namespace cortado
