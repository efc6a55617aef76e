#pragma once
#include "app/session/session.h"
#include "core/tuner/tuning_table.h"

namespace cortado {

/// Seconds of an iteration, forward and backward.
struct IterationTimes {
  double median = 0, least = 0, most = 0;
};
/// Times of a net with the plans and layouts that it takes by itself, and with those of a table.
struct TunedTimes {
  IterationTimes before, after;
};

/// Runs both nets `rounds` times by turns, after one run that warms up. Simulated times are alike: one run.
TunedTimes time_tuned(const Session& session, const caffe::NetParameter& parameter, const TuningTable& table,
                      i64 rounds);

}  // namespace cortado
