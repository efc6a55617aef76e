#pragma once
#include <vector>

#include "comm/collective/collective.h"
#include "core/machine/core_group.h"

namespace cortado {

/// Codes for the cluster, and for messages where those do not reach its memory.
class CodeMemory {
 public:
  CodeMemory() = default;
  /// A multiple of four.
  CodeMemory(CoreGroup& group, i64 bytes) : cluster_(group, static_cast<std::size_t>(bytes)), bytes_(bytes) {
    if (!group.spec().host_memory) host_.resize(static_cast<std::size_t>(bytes / 4));
  }
  void* cluster() const { return cluster_.get(); }
  Span message() const { return {host_.empty() ? cluster_.get() : host_.data(), bytes_ / 4, Precision::fp32}; }
  /// Waits.
  void to_message(CoreGroup& group) const {
    if (!host_.empty()) group.copy(host_.data(), cluster_.get(), static_cast<std::size_t>(bytes_));
    group.wait();
  }
  void from_message(CoreGroup& group) const {
    if (!host_.empty()) group.copy(cluster_.get(), host_.data(), static_cast<std::size_t>(bytes_));
  }

 private:
  ClusterMemory cluster_;
  mutable std::vector<float> host_;
  i64 bytes_ = 0;
};

}  // namespace cortado
