#pragma once
#include <mpi.h>

#include <chrono>
#include <list>
#include <mutex>
#include <string>
#include <vector>

namespace cortado {

/// Waiting ranks ask the others for their state, so that errors name the stopped rank instead of one that waits itself.
/// Ranks answer while they wait (Wait) and while they work alone (pulse). Ranks that compute or are stopped do not
/// answer.
class RollCall {
 public:
  using Clock = std::chrono::steady_clock;
  /// A rank's last answer.
  struct Answer {
    Clock::time_point when;  ///< time of its arrival; long ago where nothing has come
    bool works = false;      ///< alone, for others
    std::string what;        ///< "collective 'sum'"
  };

  /// Duplicates the communicator of all ranks. Constructor and destructor are collective.
  explicit RollCall(MPI_Comm world);
  ~RollCall();
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;

  /// The job's roll call; nullptr before it begins and after it ends.
  static RollCall* of_job();

  /// Asks all other ranks.
  void ask();
  /// Answers the ranks that have asked, and takes answers in. It does not wait.
  void answer(const std::string& what, bool works);
  Answer last_answer(int rank);
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The rank as messages name it: "2", or "2 (host3)" in a job on several hosts.
  std::string name_of(int rank) const;
  /// The ranks of a communicator as the job numbers them.
  std::vector<int> numbers_of(MPI_Comm communicator) const;

 private:
  struct Note {
    bool works;
    char what[119];
  };
  struct Sending {
    Note note;
    MPI_Request request;
  };
  void send(int to, int tag, const Note& note);
  bool take(int tag, Note& note, int& from) const;

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::mutex mutex_;
  std::list<Sending> sent_;  // MPI reads their memory
  std::vector<Answer> answers_;
  std::vector<std::string> hosts_;  // of each rank; empty where all are on one
};

}  // namespace cortado
