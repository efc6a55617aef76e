#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/support/toy_solver.h"

namespace cortado::test {

/// A toy layer with candidates whose times are made up: "forward" can be slow (4 s), quick (1 s), hopeless (estimated
/// far off), refused, or as quick within what is taken for equal (0.99 s); "backward" can be left (3 s) or right (2 s).
class TunableLayer : public ToyLayer {
 public:
  using ToyLayer::ToyLayer;
  static std::vector<std::string>& used() {  ///< what forward passes used, in order
    static std::vector<std::string> names;
    return names;
  }
  static const std::map<std::string, double>& seconds() {
    static const std::map<std::string, double> all = {{"slow", 4},     {"quick", 1}, {"as_quick", 0.99},
                                                      {"hopeless", 9}, {"left", 3},  {"right", 2}};
    return all;
  }
  static std::vector<double>& busy() {  ///< how many times as long the next forward passes take, in order
    static std::vector<double> factors;
    return factors;
  }
  std::vector<PlanOption> plan_options() const override {
    return {{"forward", shape(), "hopeless", "", 50},
            {"forward", shape(), "slow", "", 2},
            {"forward", shape(), "quick", "", 3},
            {"forward", shape(), "as_quick", "", 4},
            {"backward", shape(), "left", "", 0},
            {"backward", shape(), "right", "", 0},
            {"forward", shape(), "refused", "it never can", 0}};
  }
  PlanBook plans() const override { return plans_; }
  void choose_plans(const PlanBook& wanted) override {
    for (const auto& [direction, candidate] : wanted) {
      if (seconds().count(candidate) == 0) throw PlanError("layer '" + name() + "'", "no candidate " + candidate);
      plans_[direction] = candidate;
    }
  }
  void forward(const Blobs& bottom, const Blobs& top) override {
    used().push_back(plans_["forward"] + "+" + plans_["backward"]);
    ToyLayer::forward(bottom, top);
    if (run().plan_seconds == nullptr) return;
    const double factor = busy().empty() ? 1 : busy().front();
    if (!busy().empty()) busy().erase(busy().begin());
    for (const auto& [direction, candidate] : plans_)
      (*run().plan_seconds)[name() + "/" + direction] += factor * seconds().at(candidate);
  }

 private:
  std::string shape() const { return "n" + std::to_string(parameter().inner_product_param().num_output()); }
  PlanBook plans_ = {{"forward", "slow"}, {"backward", "left"}};
};

inline const LayerTable& tunable_layers() {
  static const LayerTable table = [] {
    LayerTable made;
    made.add<TunableLayer>("Toy");
    return made;
  }();
  return table;
}

}  // namespace cortado::test
