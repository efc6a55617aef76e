#pragma once
#include <mpi.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace cortado {

/// Other ranks did not come in time; this rank ends the job at once.
struct WaitError : Error {
  using Error::Error;
};

/// Inquires after the ranks for which one wait waits. After a tenth of the patience without progress it warns. After
/// all of it, it throws WaitError naming the work and the missing ranks. Ranks that say that they work alone (pulse)
/// count as progress.
class Inquiry {
 public:
  using Clock = std::chrono::steady_clock;

  /// `what` is the work that waits, "collective 'ring'"; it must outlive this. `step` is the position in it; 0 means
  /// not known.
  Inquiry(MPI_Comm communicator, const char* what, int step) : communicator_(communicator), what_(what), step_(step) {}

  /// Begins the wait, before the first look.
  void begin(Clock::time_point now) { moved_ = asked_ = now; }
  /// Tells that a message has come.
  void moved(Clock::time_point now) { moved_ = now; }
  /// Answers other ranks, and warns or throws where that is due. `missing` lists ranks of the communicator that have
  /// not come; empty means not known. Throws PeerError where another wait of this process has given up.
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
