#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/bench/published.h"
#include "layers/convolution/candidates.h"

namespace cortado {

/// One candidate of one layer and direction.
struct PlanTime {
  std::string plan;
  double seconds = 0;  ///< 0: refused
  std::string refused;
};

/// The times of one layer and direction by every measured candidate.
struct ConvolutionTimes {
  std::string layer;
  ConvolutionDirection direction;
  ConvolutionShape shape;
  std::vector<PlanTime> plans;

  /// The quickest plan, or the quickest of a family; nullptr means that all refused.
  const PlanTime* quickest(const std::string& family = "") const;
};

/// The published plan that a candidate belongs to, "implicit" or "explicit"; empty for others.
std::string family_of(const std::string& plan);

/// Times beside published ones. *Entries* are the published times of a plan, each against the quickest candidate of its
/// family. *Cells* are layers and directions, the best published plan against the quickest candidate of all.
struct Comparison {
  std::vector<double> entries, cells;      ///< ours over published
  int winners = 0;                         ///< cells with two published entries that differ by more than 10 %
  std::vector<std::string> other_winners;  ///< those of them that another family wins here

  std::string text() const;
  nlohmann::json json() const;
};
Comparison compare(const std::vector<ConvolutionTimes>& times, const PublishedConvolutions& published);

}  // namespace cortado
