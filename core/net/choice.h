#pragma once
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/net/layer.h"

namespace cortado {

/// The candidates of a layer in one direction, and the plan of the chosen one. The plan is made once and kept until
/// another choice replaces it. A Plan is default-constructible. It has `std::string refused`, why its candidate cannot
/// do the work (empty: it can), and `double estimate`, as PlanOption.
template <class Plan>
class Choice {
 public:
  /// One way to do the work. `plan` may be called several times.
  struct Candidate {
    std::string name;
    std::function<Plan()> plan;
    bool pays = true;  ///< the choice may take it without a measurement
  };

  /// `direction` is a PlanBook's key.
  explicit Choice(std::string direction) : direction_(std::move(direction)) {}

  const std::string& direction() const { return direction_; }
  /// The chosen candidate and its plan; before `choose` the name is empty and the plan a default one.
  const std::string& name() const { return name_; }
  const Plan& plan() const { return plan_; }

  /// Chooses the candidate named `wanted`. If that is empty, it chooses the first that pays and can, or else the first
  /// that can. The plan stays where shape and `wanted` are the same as before. Throws PlanError naming the layer, with
  /// all reasons.
  void choose(const std::string& layer, const std::string& shape, std::vector<Candidate> candidates,
              const std::string& wanted);

  /// All candidates of the last `choose`, in order. The first call plans every one of them.
  std::vector<PlanOption> options() const;
  /// The reasons why candidates were passed over, a line each: "DIRECTION SHAPE: NAME cannot run: REASON".
  std::vector<std::string> refusals() const;

 private:
  std::string direction_, shape_, wanted_, name_;
  std::vector<Candidate> candidates_;
  mutable std::vector<PlanOption> options_;
  Plan plan_;
};

template <class Plan>
void Choice<Plan>::choose(const std::string& layer, const std::string& shape, std::vector<Candidate> candidates,
                          const std::string& wanted) {
  if (!name_.empty() && shape == shape_ && wanted == wanted_) return;
  candidates_ = std::move(candidates);
  shape_ = shape, wanted_ = wanted;
  options_.clear();
  name_.clear();
  std::string reasons;
  for (const bool pays : {true, false})
    for (const Candidate& candidate : candidates_) {
      if (candidate.pays != pays || (!wanted_.empty() && candidate.name != wanted_)) continue;
      plan_ = candidate.plan();
      if (plan_.refused.empty()) {
        name_ = candidate.name;
        return;
      }
      reasons += (reasons.empty() ? "" : "; ") + candidate.name + ": " + plan_.refused;
    }
  throw PlanError("layer '" + layer + "'", "no candidate for " + direction_ + " of " + shape_ +
                                               (wanted_.empty() ? "" : " named " + wanted_) + ": " +
                                               (reasons.empty() ? "there is none of that name" : reasons));
}

template <class Plan>
std::vector<PlanOption> Choice<Plan>::options() const {
  if (options_.empty())
    for (const Candidate& candidate : candidates_) {
      const Plan plan = candidate.plan();
      options_.push_back({direction_, shape_, candidate.name, plan.refused, plan.refused.empty() ? plan.estimate : 0});
    }
  return options_;
}

template <class Plan>
std::vector<std::string> Choice<Plan>::refusals() const {
  std::vector<std::string> lines;
  const auto all = options();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PlanOption& option = all[i];
    if (option.candidate == name_) continue;
    lines.push_back(direction_ + " " + shape_ + ": " + option.candidate +
                    (!option.refused.empty() ? " cannot run: " + option.refused
                     : !wanted_.empty()      ? " was passed over: another was asked for"
                     : candidates_[i].pays   ? " was passed over: stands later in the list"
                                             : " was passed over: does not pay for such a shape"));
  }
  return lines;
}

/// A layer's choices, one for each direction, and the candidates that its user asked for. Directions are numbered in
/// the order in which they are given.
template <class Plan>
class Choices {
 public:
  Choices(std::initializer_list<const char*> directions) : choices_(directions.begin(), directions.end()) {}

  /// Layer::choose_plans.
  void want(const PlanBook& wanted) { wanted_ = wanted; }
  /// The candidate that the user asked for in this direction; empty if there is none.
  std::string wanted(const std::string& direction) const {
    const auto found = wanted_.find(direction);
    return found == wanted_.end() ? "" : found->second;
  }
  /// Choice::choose in one direction.
  void choose(std::size_t direction, const std::string& layer, const std::string& shape,
              std::vector<typename Choice<Plan>::Candidate> candidates) {
    choices_[direction].choose(layer, shape, std::move(candidates), wanted(choices_[direction].direction()));
  }
  const Plan& plan(std::size_t direction) const { return choices_[direction].plan(); }

  /// Layer's functions of these names.
  PlanBook plans() const {
    PlanBook book;
    for (const auto& choice : choices_)
      if (!choice.name().empty()) book[choice.direction()] = choice.name();
    return book;
  }
  std::vector<PlanOption> options() const { return all(&Choice<Plan>::options); }
  std::vector<std::string> refusals() const { return all(&Choice<Plan>::refusals); }

 private:
  template <class T>
  std::vector<T> all(std::vector<T> (Choice<Plan>::*list)() const) const {
    std::vector<T> values;
    for (const auto& choice : choices_)
      for (T& value : (choice.*list)()) values.push_back(std::move(value));
    return values;
  }

  std::vector<Choice<Plan>> choices_;
  PlanBook wanted_;
};

}  // namespace cortado
