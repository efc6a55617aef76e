#include "app/session/exchange.h"

#include "app/session/network_file.h"
#include "app/tune/collective_rules.h"
#include "comm/exchange/bucket_allreduce.h"
#include "comm/exchange/coded_allreduce.h"
#include "comm/exchange/master_update.h"
#include "comm/exchange/packed_allreduce.h"
#include "comm/exchange/power_sgd.h"
#include "comm/exchange/zero1_update.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "layers/gemm/gemm.h"

namespace cortado {
namespace {
const std::string& first_of(const std::string& own, const std::string& solvers) { return own.empty() ? solvers : own; }

/// The rank of "rank4". Throws ConfigError.
i64 parse_rank(const std::string& codec) {
  const std::string start = "rank", digits = codec.substr(std::min(start.size(), codec.size()));
  const bool is_rank = codec.compare(0, start.size(), start) == 0 && !digits.empty() && digits.size() < 4 &&
                       digits.find_first_not_of("0123456789") == std::string::npos && std::stoi(digits) > 0;
  if (!is_rank)
    throw ConfigError("codec '" + codec + "'", "is none of exchange 'power_sgd'", "there are: rank1, rank2, and so on");
  return std::stoi(digits);
}
}  // namespace

std::vector<CollectiveRule> TopologyRules::read_rules() const {
  return rules.empty() ? std::vector<CollectiveRule>() : cortado::read_rules(rules);
}

void learn_collectives(const Session& session, JobTeam& team, const TopologyRules& how, bool sizes_messages) {
  team.set_rules(how.read_rules());
  // On one node the choice does not depend on the network.
  if (team.topology().nodes() > 1 || sizes_messages || how.network != "cached")
    learn_network(session, team, how.network);
}

bool uses_host_sums(const Session& session, const ExchangeOptions& options, const caffe::SolverParameter& solver) {
  if (first_of(options.exchange, solver.exchange()) != "host_sums") return false;
  if (session.processor->core_groups() == 1)
    throw ConfigError("exchange 'host_sums'", "cannot run with one core group in a process",
                      "give --core-groups, or use packed");
  return true;
}

DefaultExchange chosen_exchange(const Session& session, const ExchangeOptions& options,
                                const caffe::SolverParameter& solver) {
  if (const std::string& name = first_of(options.exchange, solver.exchange()); !name.empty()) return {name, ""};
  return default_exchange(session.job.replicas().size(), BucketAllreduce::why_not());
}

std::unique_ptr<GradientExchange> make_exchange(const Session& session, const ExchangeOptions& options,
                                                const caffe::SolverParameter& solver, JobTeam& team,
                                                Timeline* timeline) {
  const auto [name, why] = chosen_exchange(session, options, solver);
  const std::string& allreduce = first_of(options.allreduce, solver.allreduce());
  const std::string& codec = first_of(options.codec, solver.codec());
  const std::string what = "exchange '" + name + "'";
  const bool coded = name == "coded" || name == "coded_hops", master = name == "master", zero1 = name == "zero1",
             power = name == "power_sgd";
  if (!coded && !master && !power && name != "buckets" && !codec.empty())
    throw ConfigError(what, "sends no codes, but a codec is given",
                      "use exchange buckets, coded, coded_hops, master or power_sgd, or no codec");
  const bool sums_codes = coded || (name == "buckets" && !codec.empty());
  if ((sums_codes || master || zero1 || power) && (!options.allreduce.empty() || solver.has_allreduce()))
    throw ConfigError(what,
                      sums_codes ? "sums codes in its own way, but an allreduce is given"
                      : master   ? "sums gradients for rank 0 only, but an allreduce is given"
                      : zero1    ? "runs the halves of circulant, but an allreduce is given"
                                 : "sums narrow matrices by auto, but an allreduce is given",
                      "leave allreduce out");
  const std::string with = zero1                              ? "halves of 'circulant'"
                           : !codec.empty()                   ? codec
                           : !sums_codes && !master && !power ? "allreduce '" + allreduce + "'"
                           : power                            ? "rank4"
                           : coded                            ? "dynamic_tree8"
                                                              : "fp32";
  CORTADO_LOG(info) << team.topology().describe() << "; gradients by " << what << ", " << with
                    << (why.empty() ? "" : " (by default: " + why + ")");
  if (coded)
    return std::make_unique<CodedAllreduce>(team, session.group, find_codec(with),
                                            name == "coded" ? CodedAllreduce::Way::once : CodedAllreduce::Way::hops);
  if (master) {
    learn_collectives(session, team, options.topology, false);
    return std::make_unique<MasterUpdate>(team, session.group, find_codec(with));
  }
  if (name == "buckets" || (name == "host_sums" && team.topology().ranks() > 1 && BucketAllreduce::why_not().empty())) {
    learn_collectives(session, team, options.topology, false);
    return std::make_unique<BucketAllreduce>(
        team.team().communicator, session.group, options.topology.places, options.topology.read_rules(), allreduce,
        timeline, codec.empty() ? nullptr : &find_codec(codec), BucketSizes(), &team.network());
  }
  if (power) {
    learn_collectives(session, team, options.topology, false);
    return std::make_unique<PowerSgd>(team, session.group, parse_rank(with),
                                      [](CoreGroup& group, const MatrixLibrary::Gemm& product) {
                                        multiply(group, preferred_multiplier(group), product);
                                      });
  }
  if (zero1) {
    if (session.processor->core_groups() > 1)
      throw ConfigError(what, "cannot run with several core groups in a process: they all update all",
                        "start a rank for each core group, or use packed");
    return std::make_unique<Zero1Update>(team, session.group);
  }
  if (name != "packed" && name != "host_sums")
    throw ConfigError(what, "is not known",
                      "there are: packed, host_sums, buckets, coded, coded_hops, master, zero1, power_sgd");
  learn_collectives(session, team, options.topology, false);
  return std::make_unique<PackedAllreduce>(team, session.group, allreduce);
}

}  // namespace cortado
