#include "app/bench/convolution_times.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace cortado {
namespace {

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

double share_between(const std::vector<double>& values, double low, double high) {
  const auto inside = std::count_if(values.begin(), values.end(), [&](double v) { return v >= low && v <= high; });
  return values.empty() ? 0 : static_cast<double>(inside) / static_cast<double>(values.size());
}

std::string line(const char* what, const std::vector<double>& ratios) {
  return fmt::format(
      "{}: {}, geometric mean of ours/published {:.3f}, within a factor 1.5 {:.1f} %, not slower {:.1f} %\n", what,
      ratios.size(), geometric_mean(ratios), 100 * share_between(ratios, 1 / 1.5, 1.5),
      100 * share_between(ratios, 0, 1));
}

nlohmann::json numbers_of(const std::vector<double>& ratios) {
  return {{"count", ratios.size()},
          {"geometric_mean", geometric_mean(ratios)},
          {"within_factor_1.5", share_between(ratios, 1 / 1.5, 1.5)},
          {"not_slower", share_between(ratios, 0, 1)}};
}

/// Notes who wins a cell whose published times are `a` by implicit and `b` by explicit.
void compare_winners(const ConvolutionTimes& cell, double a, double b, Comparison& comparison) {
  const PlanTime *ours_a = cell.quickest("implicit"), *ours_b = cell.quickest("explicit");
  if (ours_a == nullptr || ours_b == nullptr || std::max(a, b) <= 1.1 * std::min(a, b)) return;
  ++comparison.winners;
  if ((a < b) != (ours_a->seconds < ours_b->seconds))
    comparison.other_winners.push_back(cell.layer + " " + to_string(cell.direction));
}

}  // namespace

std::string family_of(const std::string& plan) {
  for (const char* family : {"implicit", "explicit"})
    if (plan.find(family) != std::string::npos) return family;
  return "";
}

const PlanTime* ConvolutionTimes::quickest(const std::string& family) const {
  const PlanTime* best = nullptr;
  for (const auto& p : plans)
    if (p.seconds > 0 && (family.empty() || family_of(p.plan) == family) &&
        (best == nullptr || p.seconds < best->seconds))
      best = &p;
  return best;
}

Comparison compare(const std::vector<ConvolutionTimes>& times, const PublishedConvolutions& published) {
  Comparison comparison;
  for (const auto& cell : times) {
    const PlanTime* const best = cell.quickest();
    if (best == nullptr) continue;
    const auto of = [&](const char* family) {
      return published.seconds(cell.layer, to_string(cell.direction), family);
    };
    const auto a = of("implicit"), b = of("explicit");
    for (const auto& [family, seconds] : {std::pair("implicit", a), std::pair("explicit", b)})
      if (const PlanTime* const ours = cell.quickest(family); ours != nullptr && seconds)
        comparison.entries.push_back(ours->seconds / *seconds);
    if (a || b) comparison.cells.push_back(best->seconds / (a && b ? std::min(*a, *b) : a ? *a : *b));
    if (a && b) compare_winners(cell, *a, *b, comparison);
  }
  return comparison;
}

std::string Comparison::text() const {
  std::string text = line("entries (plan by plan)", entries) + line("cells (best plans)", cells);
  text += "winners: of " + std::to_string(winners) + " cells whose published entries differ by more than 10 %, " +
          std::to_string(other_winners.size()) + " have another here";
  for (std::size_t i = 0; i < other_winners.size(); ++i) text += (i == 0 ? ": " : ", ") + other_winners[i];
  return text + "\n";
}

nlohmann::json Comparison::json() const {
  return {{"entries", numbers_of(entries)},
          {"cells", numbers_of(cells)},
          {"winners", winners},
          {"other_winners", other_winners}};
}

}  // namespace cortado
