#include "app/signal_actions.h"

#include <cstring>

#include "core/base/error.h"
#include "core/base/log.h"

namespace cortado {
namespace {
// All that a handler may touch: one flag per signal.
constexpr int signals = NSIG;
volatile std::sig_atomic_t arrived[signals];

const char* name_of(SolverAction effect) {
  return effect == SolverAction::stop ? "stop" : effect == SolverAction::snapshot ? "snapshot" : "none, as asked";
}

extern "C" void remember_signal(int signal) { arrived[signal] = 1; }
}  // namespace

SolverAction parse_effect(const std::string& flag, const std::string& value) {
  if (value == "stop") return SolverAction::stop;
  if (value == "snapshot") return SolverAction::snapshot;
  if (value == "none") return SolverAction::none;
  throw ConfigError("-" + flag, "'" + value + "' is no effect of a signal", "stop, snapshot or none");
}

SignalActions::SignalActions(const SignalEffects& effects) {
  for (const auto& [signal, effect] : {std::pair<int, SolverAction>{SIGINT, effects.sigint},
                                       {SIGHUP, effects.sighup},
                                       {SIGTERM, effects.sigterm},
                                       {SIGUSR1, effects.sigusr1}}) {
    struct sigaction action = {}, before = {};
    action.sa_handler = &remember_signal;
    action.sa_flags = SA_RESTART;  // a read of the data set goes on
    sigfillset(&action.sa_mask);
    arrived[signal] = 0;
    sigaction(signal, &action, &before);
    watched_.push_back({signal, effect, before});
  }
}

SignalActions::~SignalActions() {
  for (const Watched& watched : watched_) sigaction(watched.signal, &watched.before, nullptr);
}

SolverAction SignalActions::take() {
  SolverAction result = SolverAction::none;
  for (const Watched& watched : watched_) {
    if (arrived[watched.signal] == 0) continue;
    arrived[watched.signal] = 0;
    CORTADO_LOG(info) << "SIG" << sigabbrev_np(watched.signal) << " came: " << name_of(watched.effect);
    if (result != SolverAction::stop && watched.effect != SolverAction::none) result = watched.effect;
  }
  return result;
}

}  // namespace cortado
