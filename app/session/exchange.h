#pragma once
#include <memory>
#include <string>

#include "app/session/session.h"
#include "comm/exchange/default_exchange.h"
#include "comm/job_team.h"
#include "core/base/timeline.h"
#include "core/solver/gradient_exchange.h"

namespace caffe {
class SolverParameter;
}

namespace cortado {

/// The places of ranks, and what is known of collectives there.
struct TopologyRules {
  TopologyOptions places;
  std::string rules;               ///< of cortado tune --collectives; empty means no rules
  std::string network = "cached";  ///< as learn_network

  /// Reads the file's rules; there are none without a file. Throws FileError, ConfigError.
  std::vector<CollectiveRule> read_rules() const;
};

/// The ranks' way to agree on gradients; empty names leave it to the solver.
struct ExchangeOptions {
  std::string exchange, allreduce, codec;
  TopologyRules topology;
};

/// Gives the team rules and the network, where choices depend on it: across nodes, and where `sizes_messages` says that
/// the length of messages follows from it. Throws FileError, ConfigError. Collective.
void learn_collectives(const Session& session, JobTeam& team, const TopologyRules& how, bool sizes_messages);

/// True if core groups meet in host memory (SolverOptions::host_sums). Throws ConfigError where that is wanted and
/// there is one core group.
bool uses_host_sums(const Session& session, const ExchangeOptions& options, const caffe::SolverParameter& solver);

/// The exchange by which the job's ranks agree on gradients: the options', or else the solver's, for which there is no
/// reason to tell; or else the default.
DefaultExchange chosen_exchange(const Session& session, const ExchangeOptions& options,
                                const caffe::SolverParameter& solver);

/// Makes the exchange by which the job's ranks agree on gradients: chosen_exchange. Borrows `team`. Logs
/// the exchange. `timeline` records its work; nullptr means no record. Throws ConfigError for unknown
/// names and for names that do not go together. Collective.
std::unique_ptr<GradientExchange> make_exchange(const Session& session, const ExchangeOptions& options,
                                                const caffe::SolverParameter& solver, JobTeam& team,
                                                Timeline* timeline);

}  // namespace cortado
