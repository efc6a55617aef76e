#include "app/session/exchange.h"

#include "app/tune/collective_rules.h"
#include "comm/exchange/bucket_allreduce.h"
#include "comm/exchange/coded_allreduce.h"
#include "comm/exchange/master_update.h"
#include "comm/exchange/packed_allreduce.h"
#include "comm/exchange/zero1_update.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {
const std::string& first_of(const std::string& own, const std::string& solvers) { return own.empty() ? solvers : own; }
}  // namespace

std::vector<CollectiveRule> TopologyRules::read_rules() const {
  return rules.empty() ? std::vector<CollectiveRule>() : cortado::read_rules(rules);
}

bool uses_host_sums(const Session& session, const ExchangeOptions& options, const caffe::SolverParameter& solver) {
  if (first_of(options.exchange, solver.exchange()) != "host_sums") return false;
  if (session.processor->core_groups() == 1)
    throw ConfigError("exchange 'host_sums'", "cannot run with one core group in a process",
                      "give --core-groups, or use packed");
  return true;
}

std::unique_ptr<GradientExchange> make_exchange(const Session& session, const ExchangeOptions& options,
                                                const caffe::SolverParameter& solver, JobTeam& team,
                                                Timeline* timeline) {
  const std::string& name = first_of(options.exchange, solver.exchange());
  const std::string& allreduce = first_of(options.allreduce, solver.allreduce());
  const std::string what = "exchange '" + name + "'";
  const bool coded = name == "coded" || name == "coded_hops", master = name == "master", zero1 = name == "zero1";
  if (!coded && !master && (!options.codec.empty() || solver.has_codec()))
    throw ConfigError(what, "sends no codes, but a codec is given",
                      "use exchange coded, coded_hops or master, or no codec");
  if ((coded || master || zero1) && (!options.allreduce.empty() || solver.has_allreduce()))
    throw ConfigError(what,
                      coded    ? "sums codes in its own way, but an allreduce is given"
                      : master ? "sums gradients for rank 0 only, but an allreduce is given"
                               : "runs the halves of circulant, but an allreduce is given",
                      "leave allreduce out");
  const std::string& codec = first_of(options.codec, solver.codec());
  const std::string with = zero1               ? "halves of 'circulant'"
                           : !coded && !master ? "allreduce '" + allreduce + "'"
                           : !codec.empty()    ? codec
                           : coded             ? "dynamic_tree8"
                                               : "fp32";
  CORTADO_LOG(info) << team.topology().describe() << "; gradients by " << what << ", " << with;
  std::vector<CollectiveRule> rules = options.topology.read_rules();
  if (coded)
    return std::make_unique<CodedAllreduce>(team, session.group, find_codec(with),
                                            name == "coded" ? CodedAllreduce::Way::once : CodedAllreduce::Way::hops);
  if (master) {
    team.set_rules(std::move(rules));
    return std::make_unique<MasterUpdate>(team, session.group, find_codec(with));
  }
  if (name == "buckets") {
    if (session.processor->core_groups() > 1)
      throw ConfigError(what, "cannot run with several core groups in a process: they meet after backward only",
                        "start a rank for each core group, or use host_sums");
    return std::make_unique<BucketAllreduce>(team.team().communicator, session.group, options.topology.places,
                                             std::move(rules), allreduce, timeline);
  }
  if (zero1) {
    if (session.processor->core_groups() > 1)
      throw ConfigError(what, "cannot run with several core groups in a process: they all update all",
                        "start a rank for each core group, or use packed");
    return std::make_unique<Zero1Update>(team, session.group);
  }
  if (name != "packed" && name != "host_sums")
    throw ConfigError(what, "is not known", "there are: packed, host_sums, buckets, coded, coded_hops, master, zero1");
  team.set_rules(std::move(rules));
  return std::make_unique<PackedAllreduce>(team, session.group, allreduce);
}

}  // namespace cortado
