#include "app/start/signal_actions.h"

#include <unistd.h>

#include <cstring>
#include <ctime>

#include "core/base/error.h"
#include "core/base/leftovers.h"
#include "core/base/log.h"

namespace cortado {
namespace {
// All that a handler may touch.
constexpr int signals = NSIG;
volatile std::sig_atomic_t arrived[signals];
volatile std::sig_atomic_t spares_process[signals];  // whether the second one has no other effect than the first
volatile std::sig_atomic_t is_stopping = 0;
volatile long long stopping_since = 0;  // ns

const char* name_of(SolverAction effect) {
  return effect == SolverAction::stop ? "stop" : effect == SolverAction::snapshot ? "snapshot" : "none, as asked";
}

extern "C" void remember_signal(int signal) {
  arrived[signal] = 1;
  if ((signal != SIGINT && signal != SIGTERM) || spares_process[signal] != 0) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long long at = now.tv_sec * 1000000000LL + now.tv_nsec;
  if (is_stopping == 0) {
    is_stopping = 1;
    stopping_since = at;
  } else if (at - stopping_since > 500000000LL) {
    constexpr char text[] = "Ended by a second signal\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof text - 1);
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // comes when this returns
  }
}

extern "C" void end_process(int signal) {
  Leftovers::remove_all();
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // comes when this returns
}

sigset_t all_watched() {
  sigset_t all;
  sigemptyset(&all);
  for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGUSR1}) sigaddset(&all, signal);
  return all;
}

struct sigaction handled_by(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // a read of the data set goes on
  sigfillset(&action.sa_mask);
  return action;
}
}  // namespace

void hold_signals() {
  sigset_t held = all_watched();
  pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

void await_signals(bool trains, bool mpi_runs) {
  // MPI's libraries may take signals: UCX has a handler of SIGHUP that does nothing. `nohup` and shells may ignore
  // some.
  static bool is_ignored[signals];
  const struct sigaction action = handled_by(trains ? &remember_signal : &end_process);
  for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGUSR1}) {
    struct sigaction before = {};
    if (!mpi_runs) {
      sigaction(signal, nullptr, &before);
      is_ignored[signal] = before.sa_handler == SIG_IGN;
    }
    if (trains || (!is_ignored[signal] && signal != SIGUSR1))
      sigaction(signal, &action, nullptr);
    else
      std::signal(signal, SIG_IGN);
  }
  sigset_t released = all_watched();
  if (!mpi_runs) sigdelset(&released, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &released, nullptr);
}

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
    struct sigaction before = {};
    const struct sigaction action = handled_by(&remember_signal);
    spares_process[signal] = effect == SolverAction::stop ? 0 : 1;
    sigaction(signal, &action, &before);
    watched_.push_back({signal, effect, before});
  }
}

SignalActions::~SignalActions() {
  for (const Watched& watched : watched_) sigaction(watched.signal, &watched.before, nullptr);
  is_stopping = 0;
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
