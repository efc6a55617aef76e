#pragma once
#include <csignal>
#include <string>
#include <vector>

#include "core/solver/solver.h"

namespace cortado {

/// What a signal does to training. SIGINT and SIGHUP are Caffe's, with its defaults; batch systems send SIGTERM when
/// time is up and, if asked (`sbatch --signal=USR1@60`), SIGUSR1 before. `stop` snapshots too, unless the solver says
/// snapshot_after_train: false.
struct SignalEffects {
  SolverAction sigint = SolverAction::stop;
  SolverAction sighup = SolverAction::snapshot;
  SolverAction sigterm = SolverAction::stop;
  SolverAction sigusr1 = SolverAction::snapshot;
};

/// "stop", "snapshot" or "none", as a flag's value. Throws ConfigError naming the flag.
SolverAction parse_effect(const std::string& flag, const std::string& value);

/// The four signals wait until await_signals says what becomes of them; first thing in main.
void hold_signals();

/// The signals are remembered for a SignalActions that is made later, if the process `trains`; otherwise SIGUSR1 has no
/// effect, and the others end it. Call it before MPI starts and again when it runs: SIGUSR1 waits until then, because
/// MPICH puts a handler in place that crashes.
void await_signals(bool trains, bool mpi_runs);

/// While it lives, signals are remembered for the solver instead of ending the process, those of await_signals too. A
/// second SIGINT or SIGTERM, half a second or more after the first, ends the process at once unless its effect is other
/// than `stop`: launchers and `timeout` may send one twice. One at a time.
class SignalActions {
 public:
  explicit SignalActions(const SignalEffects& effects);
  ~SignalActions();
  SignalActions(const SignalActions&) = delete;
  SignalActions& operator=(const SignalActions&) = delete;

  /// What the signals since the last call ask for; `stop` where they ask for both.
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
