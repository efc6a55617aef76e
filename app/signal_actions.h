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

/// While it lives, signals are remembered for the solver instead of ending the process. One at a time.
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
