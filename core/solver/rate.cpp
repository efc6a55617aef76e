#include "core/solver/rate.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {
constexpr const char* policies = "fixed, step, exp, inv, multistep, poly, sigmoid, cosine";

void need(bool holds, const caffe::SolverParameter& parameter, const std::string& what) {
  if (!holds) throw ConfigError("solver", "lr_policy '" + parameter.lr_policy() + "' needs " + what);
}

/// Without warm-up.
float policy_rate(const caffe::SolverParameter& parameter, i64 iteration) {
  const std::string& policy = parameter.lr_policy();
  const float base = parameter.base_lr(), gamma = parameter.gamma(), power = parameter.power();
  const auto at = static_cast<float>(iteration);
  const auto decayed = [&](i64 times) {
    return static_cast<float>(double{base} * std::pow(double{gamma}, static_cast<double>(times)));
  };
  if (policy == "step" || policy == "multistep") return decayed(rate_step(parameter, iteration));
  if (policy == "exp") return decayed(iteration);
  if (policy == "inv") return base * std::pow(1.0f + gamma * at, -power);
  if (policy == "poly")
    return base * std::pow(std::max(0.0f, 1.0f - at / static_cast<float>(parameter.max_iter())), power);
  if (policy == "sigmoid")
    return base * (1.0f / (1.0f + std::exp(-gamma * (at - static_cast<float>(parameter.stepsize())))));
  if (policy == "cosine") {
    const double from = double{parameter.base_lr()}, to = double{parameter.final_lr()}, pi = std::acos(-1.0);
    const i64 warmup = parameter.warmup_iter(), since = std::max<i64>(0, iteration - warmup);
    const i64 cycle = parameter.stepsize() > 0 ? parameter.stepsize() : parameter.max_iter() - warmup;
    const i64 within = parameter.stepsize() > 0 ? since % cycle : std::min(since, cycle);
    return static_cast<float>(to + (from - to) / 2 *
                                       (1 + std::cos(pi * static_cast<double>(within) / static_cast<double>(cycle))));
  }
  return base;
}
}  // namespace

void check_rate(const caffe::SolverParameter& parameter) {
  const std::string& policy = parameter.lr_policy();
  const bool steps = policy == "step" || policy == "sigmoid";
  const bool decays = steps || policy == "exp" || policy == "inv" || policy == "multistep";
  if (!decays && policy != "fixed" && policy != "poly" && policy != "cosine")
    throw ConfigError("solver", policy.empty() ? "has no lr_policy" : "unknown lr_policy '" + policy + "'", policies);
  need(!steps || parameter.stepsize() > 0, parameter, "a stepsize above 0");
  need(!decays || parameter.gamma() >= 0, parameter, "a gamma of at least 0");
  need(policy != "poly" || parameter.max_iter() > 0, parameter, "a max_iter above 0");
  need(policy != "cosine" || parameter.stepsize() > 0 || parameter.max_iter() > parameter.warmup_iter(), parameter,
       "a max_iter above warmup_iter, or a stepsize above 0");
  need(policy != "cosine" || parameter.final_lr() >= 0, parameter, "a final_lr of at least 0");
  if (parameter.warmup_iter() < 0) throw ConfigError("solver", "warmup_iter is negative");
  if (parameter.warmup_start_lr() < 0) throw ConfigError("solver", "warmup_start_lr is negative");
}

int rate_step(const caffe::SolverParameter& parameter, i64 iteration) {
  if (parameter.lr_policy() == "step") return static_cast<int>(iteration / parameter.stepsize());
  if (parameter.lr_policy() != "multistep") return 0;
  int steps = 0;
  while (steps < parameter.stepvalue_size() && iteration >= parameter.stepvalue(steps)) ++steps;
  return steps;
}

float learning_rate(const caffe::SolverParameter& parameter, i64 iteration) {
  const i64 warmup = parameter.warmup_iter();
  if (iteration >= warmup) return policy_rate(parameter, iteration);
  const float start = parameter.warmup_start_lr(), share = static_cast<float>(iteration) / static_cast<float>(warmup);
  return start + (policy_rate(parameter, warmup) - start) * share;
}

}  // namespace cortado
