#pragma once
#include <functional>
#include <limits>

#include "core/net/net.h"
#include "core/tuner/tuning_table.h"

namespace cortado {

/// Finds the fastest candidates of a net's layers. It runs the net with one candidate after the other, and each layer
/// tells how long each direction took. swCaffe section IV-B tries both plans in the first two iterations. Layers with
/// the same work share measurements. Times are simulated ones on simulated machines, else wall times.
class Tuner {
 public:
  /// Candidates that an estimate puts `hopeless` times above the best one are not tried. At most `most_candidates` of
  /// the others are tried, the likeliest first: by estimate where all have one, else in the layer's order.
  static constexpr double hopeless = 4;
  /// Times within this ratio count as equal; then the likelier candidate stays.
  static constexpr double equal = 1.03;
  /// Candidates slower than the best one by this factor are far behind.
  static constexpr double far_behind = 1.25;
  explicit Tuner(Net& net, std::size_t most_candidates = std::numeric_limits<std::size_t>::max());

  /// The number of trials that try every candidate once. Rounds of trials, not repeated trials, let a machine of
  /// wandering speed treat all alike.
  std::size_t trials() const;
  /// Makes the net use the candidates of trial `index` and runs `work`, which should be forward and backward.
  void run(std::size_t index, const std::function<void()>& work);
  /// Leaves candidates that are far behind out of further trials. One measurement drops none: the machine may have
  /// been busy with something else.
  void drop_beaten();
  /// Further trials run the candidates of which noise hides the order, and else the fastest ones. A candidate is in
  /// doubt where it lies as near to the fastest as the times of either lie apart. Returns how many choices are in
  /// doubt.
  std::size_t keep_doubtful();

  /// A candidate of a layer, in the order in which they are tried.
  struct Row {
    std::string layer;
    PlanOption option;
    std::string skipped;  ///< why it was not tried; empty means that it was
    double seconds = 0;   ///< the least measured time; 0 means not tried
    double spread = 0;    ///< how far the second time lies above the least, as a share of that; 0 of a single time
    bool chosen = false;
  };
  /// All candidates of all layers, with the measurements so far.
  std::vector<Row> rows() const;
  /// The fastest measured candidate of every layer and direction.
  PlanBook best() const;
  void add_to(TuningTable& table) const;

 private:
  /// A layer's direction and its candidates.
  struct Choice {
    std::string layer, direction;
    std::vector<PlanOption> tried, left;
    std::vector<std::string> why_left;
    std::vector<std::size_t> running;  ///< indices into `tried` that further trials run
    const PlanOption& of_trial(std::size_t index) const { return tried[running[index % running.size()]]; }
  };
  /// The two least of the measured times.
  struct Times {
    double least = 0, second = 0;  ///< seconds
    int count = 0;
    void take(double seconds);
    double spread() const { return count > 1 ? second / least - 1 : 0; }
  };
  /// The key of a piece of work; layers with equal keys share times.
  static std::string work_of(const PlanOption& option);
  const PlanOption& fastest(const Choice& choice) const;
  Times times_of(const PlanOption& option) const;
  double seconds_of(const PlanOption& option) const { return times_of(option).least; }

  Net& net_;
  std::vector<Choice> choices_;
  std::map<std::string, Times> times_;  ///< by work and candidate
};

}  // namespace cortado
