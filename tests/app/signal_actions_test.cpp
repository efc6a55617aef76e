#include "app/signal_actions.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace cortado {
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
}  // namespace cortado
