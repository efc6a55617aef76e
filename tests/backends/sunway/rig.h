#pragma once
#include <functional>
#include <memory>

#include "backends/sunway/sim/machine.h"

namespace cortado::test {

/// One simulated core group whose CPEs run functions of the test.
class SimulatedCluster {
 public:
  explicit SimulatedCluster(const std::string& machine = "sw26010", bool timing_only = false)
      : SimulatedCluster(sunway::machine_description(machine).costs, timing_only) {}
  explicit SimulatedCluster(const sunway::Costs& costs, bool timing_only = false)
      : costs_(costs), machine_(costs_, memory_, 0, timing_only) {}

  /// Cycles from start to end of `body` on all 64 CPEs.
  double run(std::function<void()> body) {
    return machine_.run(
        "test", [](void* argument) { (*static_cast<std::function<void()>*>(argument))(); }, &body, 0);
  }
  /// `count` floats of cluster memory, alive as long as the cluster; 0, 1, 2...
  float* floats(std::size_t count) {
    auto* const p = static_cast<float*>(memory_.allocate(count * sizeof(float)));
    for (std::size_t i = 0; i < count; ++i) p[i] = static_cast<float>(i);
    owned_.emplace_back(p, [this](float* q) { memory_.release(q); });
    return p;
  }
  const sunway::Costs& costs() const { return costs_; }
  const sunway::sim::LaunchProfile& profile() const { return machine_.profile(); }

 private:
  const sunway::Costs costs_;
  sunway::sim::Memory memory_;
  sunway::sim::Machine machine_;
  std::vector<std::shared_ptr<float>> owned_;
};

inline int cpe_id() { return port_row() * port_mesh_cols + port_col(); }
inline float* scratch() { return static_cast<float*>(port_scratch()); }

}  // namespace cortado::test
