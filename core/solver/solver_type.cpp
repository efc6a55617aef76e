#include "core/solver/solver_type.h"

#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/machine/integers.h"
#include "core/solver/norms.h"
#include "core/solver/programs.h"

namespace cortado {
namespace {
using caffe::SolverParameter;

SgdRule sgd(const SolverParameter& p, const BlobUpdate& blob) { return {blob.rate, p.momentum()}; }
NesterovRule nesterov(const SolverParameter& p, const BlobUpdate& blob) { return {blob.rate, p.momentum()}; }
AdaGradRule adagrad(const SolverParameter& p, const BlobUpdate& blob) { return {blob.rate, p.delta()}; }
RmsPropRule rmsprop(const SolverParameter& p, const BlobUpdate& blob) { return {blob.rate, p.rms_decay(), p.delta()}; }
AdaDeltaRule adadelta(const SolverParameter& p, const BlobUpdate& blob) { return {blob.rate, p.momentum(), p.delta()}; }
AdamRule adam(const SolverParameter& p, const BlobUpdate& blob) {
  const auto t = static_cast<double>(blob.iteration + 1);
  const double bias1 = 1 - std::pow(double{p.momentum()}, t), bias2 = 1 - std::pow(double{p.momentum2()}, t);
  return {blob.rate * static_cast<float>(std::sqrt(bias2) / bias1), p.momentum(), p.momentum2(), p.delta()};
}

/// 1 - beta^t at update t, from 1.
float bias(float beta, i64 iteration) {
  return static_cast<float>(1 - std::pow(double{beta}, static_cast<double>(iteration + 1)));
}
LambRule lamb(const SolverParameter& p, const BlobUpdate& blob) {
  return {blob.rate,
          p.momentum(),
          p.momentum2(),
          p.delta(),
          1 / bias(p.momentum(), blob.iteration),
          1 / std::sqrt(bias(p.momentum2(), blob.iteration)),
          blob.l2};
}

void need(bool holds, const char* type, const std::string& what, const std::string& advice = "") {
  if (!holds) throw ConfigError("solver", std::string("type '") + type + "' " + what, advice);
}
bool is_decay(float value) { return value >= 0 && value < 1; }

void check_nothing(const SolverParameter& /*p*/) {}
void check_adagrad(const SolverParameter& p) {
  need(p.momentum() == 0, "AdaGrad", "takes no momentum", "leave 'momentum' out");
  need(p.delta() >= 0, "AdaGrad", "needs a delta of at least 0");
}
void check_rmsprop(const SolverParameter& p) {
  need(p.momentum() == 0, "RMSProp", "takes no momentum", "leave 'momentum' out; its own decay is 'rms_decay'");
  need(is_decay(p.rms_decay()), "RMSProp", "needs an rms_decay of at least 0 and below 1");
  need(p.delta() >= 0, "RMSProp", "needs a delta of at least 0");
}
void check_adadelta(const SolverParameter& p) {
  need(is_decay(p.momentum()), "AdaDelta", "needs a momentum, its decay, of at least 0 and below 1");
  need(p.delta() > 0, "AdaDelta", "needs a delta above 0: with 0 no weight ever changes");
}
void check_adam(const SolverParameter& p) {
  need(is_decay(p.momentum()), "Adam", "needs a momentum of at least 0 and below 1");
  need(is_decay(p.momentum2()), "Adam", "needs a momentum2 of at least 0 and below 1");
  need(p.delta() >= 0, "Adam", "needs a delta of at least 0");
}
/// Of AdamW and LAMB, `type`.
void check_decoupled(const SolverParameter& p, const char* type) {
  need(is_decay(p.momentum()), type, "needs a momentum of at least 0 and below 1");
  need(is_decay(p.momentum2()), type, "needs a momentum2 of at least 0 and below 1");
  need(p.delta() >= 0, type, "needs a delta of at least 0");
  need(p.regularization_type() == "L2", type, "knows L2 decay only: it takes a share of each weight");
}
void check_adamw(const SolverParameter& p) { check_decoupled(p, "AdamW"); }
void check_lamb(const SolverParameter& p) { check_decoupled(p, "LAMB"); }
void check_lars(const SolverParameter& p) {
  need(p.trust_coefficient() > 0, "LARS", "needs a trust_coefficient above 0");
  need(p.regularization_type() == "L2", "LARS", "knows L2 decay only: its local rates are made for it");
}

template <class Rule>
RowLines lines_of(CoreGroup& group, const BlobUpdate& blob) {
  return {1, blob.count, line_elements(group.spec(), blob.count, 5 + 3 * Rule::histories)};
}

template <class Rule>
void launch(CoreGroup& group, const BlobUpdate& blob, const Rule& rule) {
  const RowLines s = lines_of<Rule>(group, blob);
  const HistoryRows<Rule> histories{s, blob.pitch};
  PlanBuilder book(group.spec());
  const Update<Rule> program{reads(book, "gradients", blob.gradient, s),
                             reads(book, "weights", blob.weight, s),
                             reads(book, "histories", blob.history, histories),
                             writes(book, "new weights", blob.weight, s),
                             writes(book, "new histories", blob.history, histories),
                             blob.scale,
                             blob.l2,
                             blob.l1,
                             rule};
  group.launch(program, book.plan(s.lines()));
}

template <class Rule, Rule (*make)(const SolverParameter&, const BlobUpdate&)>
void update(CoreGroup& group, const SolverParameter& parameter, const BlobUpdate& blob) {
  launch(group, blob, make(parameter, blob));
}

/// The decay is the rule's.
void update_adamw(CoreGroup& group, const SolverParameter& p, const BlobUpdate& blob) {
  BlobUpdate undecayed = blob;
  undecayed.l2 = 0;
  launch(group, undecayed,
         AdamWRule{blob.rate / bias(p.momentum(), blob.iteration), p.momentum(), p.momentum2(), p.delta(),
                   1 / std::sqrt(bias(p.momentum2(), blob.iteration)), blob.rate * blob.l2});
}
void update_lamb(CoreGroup& group, const SolverParameter& p, const BlobUpdate& blob) {
  BlobUpdate undecayed = blob;
  undecayed.l2 = 0;
  launch(group, undecayed, lamb(p, blob));
}

void launch_moments(CoreGroup& group, const SolverParameter& parameter, const BlobUpdate& blob, float* sums) {
  if (blob.count == 0) return;
  const RowLines s = lines_of<LambRule>(group, blob);
  const HistoryRows<LambRule> histories{s, blob.pitch};
  PlanBuilder book(group.spec());
  const Moments program{reads(book, "gradients", blob.gradient, s),
                        reads(book, "weights", blob.weight, s),
                        reads(book, "histories", blob.history, histories),
                        writes(book, "new histories", blob.history, histories),
                        writes(book, "sums", sums, RowLines::whole(s.lines())),
                        blob.scale,
                        lamb(parameter, blob)};
  group.launch(program, book.plan(s.lines()));
}

std::vector<double> begin_lamb(CoreGroup& group, const SolverParameter& parameter,
                               const std::vector<BlobUpdate>& blobs) {
  std::vector<i64> lines;
  for (const BlobUpdate& blob : blobs) lines.push_back(blob.count > 0 ? lines_of<LambRule>(group, blob).lines() : 0);
  return totals_of_lines(group, lines,
                         [&](std::size_t i, float* sums) { launch_moments(group, parameter, blobs[i], sums); });
}

using LocalRates = SolverType::LocalRates;
constexpr SolverType types[] = {
    {"SGD", SgdRule::histories, LocalRates::none, check_nothing, update<SgdRule, sgd>},
    {"Nesterov", NesterovRule::histories, LocalRates::none, check_nothing, update<NesterovRule, nesterov>},
    {"AdaGrad", AdaGradRule::histories, LocalRates::none, check_adagrad, update<AdaGradRule, adagrad>},
    {"RMSProp", RmsPropRule::histories, LocalRates::none, check_rmsprop, update<RmsPropRule, rmsprop>},
    {"AdaDelta", AdaDeltaRule::histories, LocalRates::none, check_adadelta, update<AdaDeltaRule, adadelta>},
    {"Adam", AdamRule::histories, LocalRates::none, check_adam, update<AdamRule, adam>},
    {"AdamW", AdamWRule::histories, LocalRates::none, check_adamw, update_adamw},
    {"LARS", SgdRule::histories, LocalRates::gradients, check_lars, update<SgdRule, sgd>},
    {"LAMB", LambRule::histories, LocalRates::directions, check_lamb, update_lamb, begin_lamb},
};
}  // namespace

const SolverType& solver_type(const SolverParameter& parameter) {
  const std::string name = solver_type_name(parameter);
  std::string known;
  for (const SolverType& type : types) {
    if (name == type.name) return type;
    known += (known.empty() ? "" : ", ") + std::string(type.name);
  }
  throw ConfigError("solver", "solver type '" + name + "' does not exist here", "there is: " + known);
}

}  // namespace cortado
