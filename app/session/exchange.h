#pragma once
#include <memory>

#include "app/session/session.h"
#include "comm/job_team.h"
#include "core/base/timeline.h"
#include "core/solver/gradient_exchange.h"

namespace caffe {
class SolverParameter;
}

namespace cortado {

/// Whether core groups meet in host memory (SolverOptions::host_sums). Throws ConfigError where they should and there
/// is one.
bool uses_host_sums(const Session& session, const Options& options, const caffe::SolverParameter& solver);

/// How the job's ranks agree on gradients: as the command line says, or else the solver. `team` is borrowed. Logs what
/// it made. `timeline` may be null. Collective. Throws ConfigError for names that are not known and for what does not
/// go together.
std::unique_ptr<GradientExchange> make_exchange(const Session& session, const Options& options,
                                                const caffe::SolverParameter& solver, JobTeam& team,
                                                Timeline* timeline);

}  // namespace cortado
