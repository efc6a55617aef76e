#include "app/start/signal_actions.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/base/error.h"

namespace cortado::signal_actions_test {
namespace {
TEST(SignalActions, DefaultsAreCaffesAndWhatBatchSystemsNeed) {
  SignalActions actions({});
  EXPECT_EQ(actions.take(), SolverAction::none);
  std::raise(SIGINT);
  EXPECT_EQ(actions.take(), SolverAction::stop);
  EXPECT_EQ(actions.take(), SolverAction::none) << "each signal counts once";
  std::raise(SIGHUP);
  EXPECT_EQ(actions.take(), SolverAction::snapshot);
  std::raise(SIGTERM);
  EXPECT_EQ(actions.take(), SolverAction::stop);
  std::raise(SIGUSR1);
  EXPECT_EQ(actions.take(), SolverAction::snapshot);
}

TEST(SignalActions, SecondOneEndsTheProcess) {
  const auto twice = [](int signal, const SignalEffects& effects) {
    SignalActions actions(effects);
    std::raise(signal);
    std::raise(signal);  // at once, as launchers may send it twice
    actions.take();
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    std::raise(signal);
    std::_Exit(actions.take() == SolverAction::none ? 3 : 4);
  };
  SignalEffects spared;
  spared.sigterm = SolverAction::snapshot;
  spared.sigint = SolverAction::none;
  EXPECT_EXIT(twice(SIGTERM, {}), ::testing::KilledBySignal(SIGTERM), "second signal");
  EXPECT_EXIT(twice(SIGINT, {}), ::testing::KilledBySignal(SIGINT), "second signal");
  EXPECT_EXIT(twice(SIGUSR1, {}), ::testing::ExitedWithCode(4), "");
  EXPECT_EXIT(twice(SIGTERM, spared), ::testing::ExitedWithCode(4), "");
  EXPECT_EXIT(twice(SIGINT, spared), ::testing::ExitedWithCode(3), "");
}

TEST(SignalActions, EarlyOnesCount) {
  hold_signals();
  std::raise(SIGUSR1);  // before main knows what becomes of it
  await_signals(true, false);
  std::raise(SIGTERM);
  await_signals(true, true);
  {
    SignalActions actions({});
    EXPECT_EQ(actions.take(), SolverAction::stop);
    EXPECT_EQ(actions.take(), SolverAction::none);
  }
  for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGUSR1}) std::signal(signal, SIG_DFL);
}

TEST(SignalActions, OtherVerbsEndAsTheirParentWants) {
  const auto raise_after_mpi = [](int signal, void (*inherited)(int)) {
    std::signal(signal, inherited);
    await_signals(false, false);
    std::signal(signal, [](int) {});  // as an MPI library may do
    await_signals(false, true);
    std::raise(signal);
    std::_Exit(3);
  };
  for (const int signal : {SIGINT, SIGHUP, SIGTERM}) {
    EXPECT_EXIT(raise_after_mpi(signal, SIG_DFL), ::testing::KilledBySignal(signal), "");
    EXPECT_EXIT(raise_after_mpi(signal, SIG_IGN), ::testing::ExitedWithCode(3), "");
  }
  EXPECT_EXIT(raise_after_mpi(SIGUSR1, SIG_DFL), ::testing::ExitedWithCode(3), "");
}

TEST(SignalActions, StopWinsOverSnapshot) {
  SignalActions actions({});
  std::raise(SIGTERM);
  std::raise(SIGUSR1);
  EXPECT_EQ(actions.take(), SolverAction::stop);
  EXPECT_EQ(actions.take(), SolverAction::none);
}

TEST(SignalActions, EffectsCanBeChosen) {
  SignalEffects effects;
  effects.sigint = SolverAction::none;
  effects.sighup = SolverAction::stop;
  SignalActions actions(effects);
  std::raise(SIGINT);
  EXPECT_EQ(actions.take(), SolverAction::none);
  std::raise(SIGHUP);
  EXPECT_EQ(actions.take(), SolverAction::stop);
}

TEST(SignalActions, GivesHandlersBack) {
  struct sigaction before = {}, during = {}, after = {};
  sigaction(SIGUSR1, nullptr, &before);
  {
    SignalActions actions({});
    sigaction(SIGUSR1, nullptr, &during);
    EXPECT_NE(during.sa_handler, before.sa_handler);
  }
  sigaction(SIGUSR1, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST(SignalActions, ParsesFlags) {
  EXPECT_EQ(parse_effect("sigint_effect", "stop"), SolverAction::stop);
  EXPECT_EQ(parse_effect("sigint_effect", "snapshot"), SolverAction::snapshot);
  EXPECT_EQ(parse_effect("sigint_effect", "none"), SolverAction::none);
  EXPECT_THROW(parse_effect("sigint_effect", "explode"), ConfigError);
}
}  // namespace
}  // namespace cortado::signal_actions_test
