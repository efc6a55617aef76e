#pragma once
#include <string>
#include <vector>

#include "app/session/exchange.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "comm/codec/codec.h"
#include "comm/predict/speedup.h"

namespace cortado {

/// The flags of a prediction.
struct PredictFlags {
  NetFlags net;
  SessionFlags session;
  ExchangeOptions exchange;
  std::string machine;
  std::vector<int> devices = {1, 2, 4, 8, 16, 32, 64, 96};
  std::string fully_connected = "model";  ///< or data, whole
  i64 sub_batch = 0;                      ///< 0: a device's batch
  bool one_pass = false, divide = false;
  i64 iterations = 10;
  std::string tuning, json;
};

/// Predicts the speed-up of --model on the devices of --machine.
void forecast(const Session& session, const PredictFlags& flags);

/// `--divide`: shows the best division of fully connected layers' weights over devices, and the fields to write into
/// the net.
void show_divisions(const Session& session, const PredictFlags& flags, const Work& work, const Links& links,
                    const Coding& coding, const Parallelism& how);

/// `--check`: trains on this job's ranks, and prints the prediction beside the measurement. Throws ConfigError for a
/// job of one rank.
void check_prediction(const Session& session, const PredictFlags& flags);

/// `--published`, `--scalednn`: show papers' numbers beside ours. Reports go to `json` too, unless that is empty.
void show_published(const Session& session, const std::string& json);
void show_scalednn(const Session& session, const std::string& json);

/// The command line's codec for messages, or else the one named `otherwise`. Throws ConfigError for unknown codecs and
/// for those that cannot code gradients.
const Codec& codec_of(const PredictFlags& flags, const std::string& otherwise);

}  // namespace cortado
