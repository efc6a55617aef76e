#pragma once
#include <csignal>
#include <string>
#include <vector>

#include "core/solver/solver.h"

namespace cortado {

/// The effects of signals on training. SIGINT and SIGHUP are Caffe's, with its defaults. Batch systems send SIGTERM
/// when time is up and, if told so (`sbatch --signal=USR1@60`), SIGUSR1 before. `stop` snapshots too, unless the solver
/// says snapshot_after_train: false.
struct SignalEffects {
  SolverAction sigint = SolverAction::stop;
  SolverAction sighup = SolverAction::snapshot;
  SolverAction sigterm = SolverAction::stop;
  SolverAction sigusr1 = SolverAction::snapshot;
};

/// Parses a flag's value, "stop", "snapshot" or "none". Throws ConfigError naming the flag.
SolverAction parse_effect(const std::string& flag, const std::string& value);

/// Holds the four signals until await_signals. main calls it first.
void hold_signals();

/// Keeps the signals for a later SignalActions, if the process `trains`. Otherwise SIGUSR1 has no effect, and the
/// others end the process unless its parent ignored them, as `nohup` does. It is called before MPI starts and again
/// when MPI runs, and undoes what MPI's libraries made of the signals. SIGUSR1 waits until then, because MPICH installs
/// a handler that crashes.
void await_signals(bool trains, bool mpi_runs);

/// While it lives, signals are kept for the solver instead of ending the process, those of await_signals too. A second
/// SIGINT or SIGTERM ends the process at once, unless its effect is other than `stop`. It counts only half a second or
/// more after the first, because launchers and `timeout` may send one twice. A process has one at a time.
class SignalActions {
 public:
  explicit SignalActions(const SignalEffects& effects);
  ~SignalActions();
  SignalActions(const SignalActions&) = delete;
  SignalActions& operator=(const SignalActions&) = delete;

  /// The action for the signals since the last call; `stop` wins over `snapshot`.
  SolverAction take();

 private:
  struct Watched {
    int signal;
    SolverAction effect;
    struct sigaction before;
  };
  std::vector<Watched> watched_;
};

}  // namespace cortado
