#pragma once
#include <mpi.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace cortado {

/// Other ranks did not come in time: this rank ends the job, at once.
struct WaitError : Error {
  using Error::Error;
};

/// Asks after the ranks that one wait waits for. After a tenth of the patience without progress it warns, after all of
/// it, it throws WaitError, saying what waits for which ranks. Ranks that say that they work alone (pulse) count as
/// progress.
class Inquiry {
 public:
  using Clock = std::chrono::steady_clock;

  /// `what` waits, "collective 'ring'"; it must outlive this. `step`: where in it; 0: not known.
  Inquiry(MPI_Comm communicator, const char* what, int step) : communicator_(communicator), what_(what), step_(step) {}

  /// The wait begins. Before the first look.
  void begin(Clock::time_point now) { moved_ = asked_ = now; }
  /// Something has come.
  void moved(Clock::time_point now) { moved_ = now; }
  /// Answers other ranks, and does what is due. `missing`: ranks of the communicator that are waited for; empty: not
  /// known. Throws PeerError where another wait of this process has given up.
  void look(std::vector<int> missing);

 private:
  void warn(const std::string& text) const;
  std::string story(const std::vector<int>& missing, double seconds) const;

  MPI_Comm const communicator_;
  const char* const what_;
  const int step_;
  bool has_warned_ = false;
  Clock::time_point moved_, asked_;
};

}  // namespace cortado
