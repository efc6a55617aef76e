#include "core/tuner/tuner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace cortado {
namespace {

/// Likeliest first. Estimates decide only where there is one for every candidate.
void rank(std::vector<PlanOption>& options) {
  const auto estimated = [](const PlanOption& o) { return o.estimate > 0; };
  if (std::all_of(options.begin(), options.end(), estimated))
    std::stable_sort(options.begin(), options.end(),
                     [](const PlanOption& a, const PlanOption& b) { return a.estimate < b.estimate; });
}

std::string times_slower(double factor) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", factor);
  return text;
}

}  // namespace

Tuner::Tuner(Net& net, std::size_t most_candidates) : net_(net) {
  for (const auto& entry : net.layers()) {
    std::map<std::string, std::vector<PlanOption>> accepted;
    std::map<std::string, Choice> made;
    for (const PlanOption& option : entry.layer->plan_options()) {
      Choice& choice = made[option.direction];
      if (option.refused.empty()) {
        accepted[option.direction].push_back(option);
      } else {
        choice.left.push_back(option);
        choice.why_left.push_back("cannot run: " + option.refused);
      }
    }
    for (auto& [direction, choice] : made) {
      choice.layer = entry.layer->name();
      choice.direction = direction;
      auto& options = accepted[direction];
      rank(options);
      double least = 0;
      for (const auto& o : options)
        if (o.estimate > 0 && (least == 0 || o.estimate < least)) least = o.estimate;
      for (const auto& option : options) {
        std::string why;
        if (option.estimate > hopeless * least)
          why = "estimated " + times_slower(option.estimate / least) + " times as slow as the best";
        else if (choice.tried.size() >= most_candidates)
          why = "others are likelier";
        if (why.empty()) {
          choice.tried.push_back(option);
        } else {
          choice.left.push_back(option);
          choice.why_left.push_back(why);
        }
      }
      choice.running.resize(choice.tried.size());
      std::iota(choice.running.begin(), choice.running.end(), std::size_t{0});
      if (!choice.tried.empty()) choices_.push_back(std::move(choice));
    }
  }
}

std::size_t Tuner::trials() const {
  std::size_t most = 0;
  for (const auto& choice : choices_) most = std::max(most, choice.running.size());
  return most;
}

void Tuner::run(std::size_t index, const std::function<void()>& work) {
  PlanBook plans;
  for (const auto& c : choices_) plans[c.layer + "/" + c.direction] = c.of_trial(index).candidate;
  net_.use_plans(plans);
  std::map<std::string, double> measured;
  net_.run().plan_seconds = &measured;
  try {
    work();
  } catch (...) {
    net_.run().plan_seconds = nullptr;
    throw;
  }
  net_.run().plan_seconds = nullptr;
  for (const auto& c : choices_) {
    const auto found = measured.find(c.layer + "/" + c.direction);
    if (found == measured.end()) continue;  // the first layer needs no input gradient
    times_[work_of(c.of_trial(index))].take(found->second);
  }
}

void Tuner::drop_beaten() {
  for (auto& c : choices_) {
    const double bound = far_behind * seconds_of(fastest(c));
    if (bound == 0) continue;
    const auto is_beaten = [&](std::size_t i) {
      const Times times = times_of(c.tried[i]);
      return times.count > 1 && times.least > bound;
    };
    c.running.erase(std::remove_if(c.running.begin(), c.running.end(), is_beaten), c.running.end());
  }
}

std::size_t Tuner::keep_doubtful() {
  std::size_t doubtful = 0;
  for (auto& c : choices_) {
    const PlanOption& best = fastest(c);
    const Times least = times_of(best);
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < c.tried.size(); ++i) {
      const Times times = times_of(c.tried[i]);
      const double noise = std::max(times.spread(), least.spread());
      const bool is_near = times.count > 0 && noise > equal - 1 && std::abs(times.least / least.least - 1) <= noise;
      if (&c.tried[i] == &best || is_near) kept.push_back(i);
    }
    doubtful += kept.size() > 1 ? 1 : 0;
    c.running = std::move(kept);
  }
  return doubtful;
}

void Tuner::Times::take(double seconds) {
  const bool is_least = count == 0 || seconds < least;
  if (is_least) std::swap(least, second), least = seconds;
  if (!is_least && (count == 1 || seconds < second)) second = seconds;
  ++count;
}

std::string Tuner::work_of(const PlanOption& option) {
  return option.direction + " " + option.shape + " " + option.candidate;
}

Tuner::Times Tuner::times_of(const PlanOption& option) const {
  const auto found = times_.find(work_of(option));
  return found != times_.end() ? found->second : Times{};
}

/// The first of those tried where nothing was measured.
const PlanOption& Tuner::fastest(const Choice& choice) const {
  double least = 0;
  for (const auto& option : choice.tried) {
    const double seconds = seconds_of(option);
    if (seconds > 0 && (least == 0 || seconds < least)) least = seconds;
  }
  return *std::find_if(choice.tried.begin(), choice.tried.end(), [&](const PlanOption& option) {
    return least == 0 || (seconds_of(option) > 0 && seconds_of(option) <= equal * least);
  });
}

std::vector<Tuner::Row> Tuner::rows() const {
  std::vector<Row> rows;
  for (const auto& c : choices_) {
    const std::string best = fastest(c).candidate;
    for (const auto& option : c.tried) {
      const Times times = times_of(option);
      const bool is_measured = times.count > 0;
      rows.push_back({c.layer, option, is_measured ? "" : "not needed", times.least, times.spread(),
                      is_measured && option.candidate == best});
    }
    for (std::size_t i = 0; i < c.left.size(); ++i) rows.push_back({c.layer, c.left[i], c.why_left[i], 0, 0, false});
  }
  return rows;
}

PlanBook Tuner::best() const {
  PlanBook plans;
  for (const auto& c : choices_) plans[c.layer + "/" + c.direction] = fastest(c).candidate;
  return plans;
}

void Tuner::add_to(TuningTable& table) const {
  for (const auto& c : choices_) {
    const PlanOption& best = fastest(c);
    if (seconds_of(best) > 0) table.set(best, seconds_of(best));
  }
}

}  // namespace cortado
