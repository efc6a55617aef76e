#include "core/solver/solver_type.h"

#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/machine/integers.h"
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
void check_lars(const SolverParameter& p) {
  need(p.trust_coefficient() > 0, "LARS", "needs a trust_coefficient above 0");
  need(p.regularization_type() == "L2", "LARS", "knows L2 decay only: its local rates are made for it");
}

template <class Rule>
void launch(CoreGroup& group, const BlobUpdate& blob, const Rule& rule) {
  const RowLines s{1, blob.count, line_elements(group.spec(), blob.count, 5 + 3 * Rule::histories)};
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

constexpr SolverType types[] = {
    {"SGD", SgdRule::histories, false, check_nothing, update<SgdRule, sgd>},
    {"Nesterov", NesterovRule::histories, false, check_nothing, update<NesterovRule, nesterov>},
    {"AdaGrad", AdaGradRule::histories, false, check_adagrad, update<AdaGradRule, adagrad>},
    {"RMSProp", RmsPropRule::histories, false, check_rmsprop, update<RmsPropRule, rmsprop>},
    {"AdaDelta", AdaDeltaRule::histories, false, check_adadelta, update<AdaDeltaRule, adadelta>},
    {"Adam", AdamRule::histories, false, check_adam, update<AdamRule, adam>},
    {"LARS", SgdRule::histories, true, check_lars, update<SgdRule, sgd>},
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
