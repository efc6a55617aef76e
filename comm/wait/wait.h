#pragma once
#include <mpi.h>

#include <chrono>
#include <vector>

#include "comm/wait/deadline.h"
#include "comm/wait/inquiry.h"

namespace cortado {

/// Tells whether this process has a processor that no other rank of its node uses. If so, the main thread's waits keep
/// the processor for their first 200 us, in which short messages come. Other programs on the node would take each turn
/// that is given away. Before the first call, waits do not keep it.
void own_processor(bool has_one);

/// One wait for other ranks, as a loop that tries again and again: `while (!done()) wait.turn();`. It spins, then gives
/// its turn to others, then sleeps between turns. An Inquiry warns meanwhile, and throws WaitError in the end.
class Wait {
 public:
  /// `what` is the work that waits, "collective 'ring'"; it must outlive this. `step` is the position in it; 0 means
  /// not known. The first `spins` turns keep the processor.
  Wait(MPI_Comm communicator, const char* what, int step = 0, int spins = 100)
      : inquiry_(communicator, what, step), spins_(spins) {}

  void turn() {
    turn([] { return std::vector<int>(); });
  }
  /// `missing()` lists the ranks of the communicator that have not come; empty means not known.
  template <class Missing>
  void turn(Missing missing) {
    if (++turns_ > spins_ && looks()) inquiry_.look(missing());
  }
  /// Tells that a message has come.
  void moved() { has_moved_ = true; }

 private:
  using Clock = Inquiry::Clock;
  bool looks();

  Inquiry inquiry_;
  const int spins_;
  int turns_ = 0;
  bool has_moved_ = false, keeps_processor_ = false;
  Clock::time_point begin_, next_look_;
};

/// Waits for the request.
void complete(MPI_Request& request, Wait& wait);

/// Waits for all of them. `missing` as in Wait::turn.
template <class Missing>
void complete_all(std::vector<MPI_Request>& requests, Wait& wait, Missing missing) {
  if (patience() <= 0) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return;
  }
  for (std::size_t done = 0, before = 0; done < requests.size(); before = done) {
    done = 0;
    for (MPI_Request& request : requests) {
      int through = 0;
      MPI_Test(&request, &through, MPI_STATUS_IGNORE);
      if (through != 0) ++done;
    }
    if (done != before) wait.moved();
    if (done < requests.size()) wait.turn(missing);
  }
}

}  // namespace cortado
