#pragma once
#include <functional>
#include <memory>
#include <string>

#include "app/session/exchange.h"
#include "app/session/session.h"
#include "core/solver/solver.h"

namespace cortado {

/// A Trainer's settings, beyond what its solver's text says.
struct TrainerOptions {
  ExchangeOptions exchange;              ///< how ranks agree on gradients
  std::string tuning;                    ///< a tuning file of the job; empty means those of the machine alone
  bool keeps_values = false;             ///< as SolverOptions
  std::function<SolverAction()> action;  ///< as SolverOptions: asked once per iteration, on every rank
  std::function<void(const SolverOptions::Progress&)> progress;  ///< as SolverOptions: told on rank 0
};

/// A solver with what it needs to train on all ranks of a job: readers, exchange of gradients, shards, tuning. Each
/// rank trains on core group 0 of its processor.
class Trainer {
 public:
  /// Borrows `session`. Throws as Solver does; ConfigError for an unknown exchange, and for a session of several core
  /// groups. Collective.
  Trainer(const Session& session, const caffe::SolverParameter& parameter, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Its member functions are collective.
  Solver& solver();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cortado
