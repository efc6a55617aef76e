#pragma once
#include <functional>
#include <limits>

#include "core/net/net.h"
#include "core/tuner/tuning_table.h"

namespace cortado {

/// Finds the fastest candidates of a net's layers by running the net with one after the other: each layer tells how
/// long each direction took with the candidate of the trial (swCaffe section IV-B tries both plans in the first two
/// iterations). Layers that do the same work share what was measured. Where the machine's time is simulated it is that
/// time which is compared, else wall time.
class Tuner {
 public:
  /// Candidates that an estimate puts `hopeless` times above the best one are not tried; of the others at most
  /// `most_candidates`, the likeliest first: by estimate where all have one, else in the layer's own order.
  static constexpr double hopeless = 4;
  /// Times closer than this are taken for equal: then the likelier candidate stays.
  static constexpr double equal = 1.03;
  /// Candidates that took that many times as long as the best one are far behind; after one round of trials, in which a
  /// machine whose speed wanders may have met them at its slowest, that many times.
  static constexpr double far_behind = 1.25, far_behind_at_first = 2;
  explicit Tuner(Net& net, std::size_t most_candidates = std::numeric_limits<std::size_t>::max());

  /// How many trials try every candidate once. Rounds of trials, not repeated trials, let a machine whose speed wanders
  /// treat all alike.
  std::size_t trials() const;
  /// Makes the net use the candidates of trial `index` and runs `work`, which should be forward and backward.
  void run(std::size_t index, const std::function<void()>& work);
  /// Leaves candidates that are far behind out of further trials.
  void drop_beaten();

  /// A candidate of a layer, in the order in which they are tried.
  struct Row {
    std::string layer;
    PlanOption option;
    std::string skipped;  ///< why it was not tried; empty: it was
    double seconds = 0;   ///< the least that was measured; 0: not tried
    bool chosen = false;
  };
  /// All candidates of all layers, with what is known so far.
  std::vector<Row> rows() const;
  /// The fastest of those measured, of every layer and direction.
  PlanBook best() const;
  void add_to(TuningTable& table) const;

 private:
  /// A layer's direction and its candidates.
  struct Choice {
    std::string layer, direction;
    std::vector<PlanOption> tried, left;
    std::vector<std::string> why_left;
    std::vector<std::size_t> running;  ///< of `tried`, those that trials go through
    const PlanOption& of_trial(std::size_t index) const { return tried[running[index % running.size()]]; }
  };
  /// What is done how: layers with equal work share times.
  static std::string work_of(const PlanOption& option);
  const PlanOption& fastest(const Choice& choice) const;
  double seconds_of(const PlanOption& option) const;

  Net& net_;
  std::vector<Choice> choices_;
  bool dropped_ = false;                   ///< some candidates, once
  std::map<std::string, double> seconds_;  ///< by work and candidate
};

}  // namespace cortado
