#pragma once
#include "app/session/session.h"
#include "comm/codec/codec.h"
#include "comm/predict/speedup.h"

namespace cortado {

/// `cortado predict --check`: trains on this job's ranks, and prints what is predicted for it beside what it takes.
/// Throws ConfigError for a job of one rank.
void check_prediction(Session& session, const Options& options);

/// `cortado predict --divide`: how fully connected layers' weights should lie over devices, and what to write into the
/// net for it.
void show_divisions(const Session& session, const Options& options, const Work& work, const Links& links,
                    const Coding& coding, const Parallelism& how);

/// The codec that the command line asks messages to be sent as, `otherwise` unless it names one. Throws ConfigError for
/// unknown ones and for those that cannot code gradients.
const Codec& codec_of(const Options& options, const std::string& otherwise);

}  // namespace cortado
