#pragma once
#include "core/machine/core_group.h"

namespace cortado {

/// Cluster memory that the layers of a net use one after another, each during one forward or backward. Contents last
/// until the next layer takes the memory. The compute stream keeps its order, so a later layer overwrites only what an
/// earlier one has read.
class Workspace {
 public:
  explicit Workspace(CoreGroup& group) : group_(group) {}

  /// At least `count` floats; nullptr for 0. It waits for the cluster when the memory has to grow.
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
