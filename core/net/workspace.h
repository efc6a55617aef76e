#pragma once
#include "core/machine/core_group.h"

namespace cortado {

/// Cluster memory that the layers of a net use one after another, each for the time of one forward or backward:
/// contents last until the next layer asks. Work on the compute stream keeps its order, so a later user overwrites only
/// what is done with.
class Workspace {
 public:
  explicit Workspace(CoreGroup& group) : group_(group) {}

  /// At least `count` floats; null for 0. Waits for the cluster when it has to grow.
  float* floats(i64 count) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
    if (bytes > memory_.bytes()) {
      group_.wait();
      memory_ = ClusterMemory();  // first, so that old and new never stand side by side
      memory_ = ClusterMemory(group_, bytes);
    }
    return count > 0 ? memory_.as<float>() : nullptr;
  }

 private:
  CoreGroup& group_;
  ClusterMemory memory_;
};

}  // namespace cortado
