#pragma once
#include <memory>
#include <string>

#include "app/session/session.h"
#include "comm/job_team.h"
#include "core/base/timeline.h"
#include "core/solver/gradient_exchange.h"

namespace caffe {
class SolverParameter;
}

namespace cortado {

/// Flags that say where ranks are, and which collective is fastest there.
struct TopologyFlags {
  TopologyOptions places;
  std::string rules;

  void add_to(Flags& flags);
  /// The rules that the file holds; none without one. Throws FileError, ConfigError.
  std::vector<CollectiveRule> read_rules() const;
};

/// How ranks agree on gradients, where the command line says so; empty names leave it to the solver. Verbs add flags
/// with their own texts.
struct ExchangeFlags {
  std::string exchange, allreduce, codec;
  TopologyFlags topology;
};

/// Whether core groups meet in host memory (SolverOptions::host_sums). Throws ConfigError where they should and there
/// is one.
bool uses_host_sums(const Session& session, const ExchangeFlags& flags, const caffe::SolverParameter& solver);

/// How the job's ranks agree on gradients: as the command line says, or else the solver. `team` is borrowed. Logs what
/// it made. `timeline` may be nullptr. Collective. Throws ConfigError for names that are not known and for what does
/// not go together.
std::unique_ptr<GradientExchange> make_exchange(const Session& session, const ExchangeFlags& flags,
                                                const caffe::SolverParameter& solver, JobTeam& team,
                                                Timeline* timeline);

}  // namespace cortado
