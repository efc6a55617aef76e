#pragma once
#include <vector>

#include "comm/collective/collective.h"
#include "core/machine/core_group.h"

namespace cortado {

/// Codes in cluster memory, and in host memory where messages do not reach the cluster's. Places and lengths are bytes,
/// multiples of four.
class CodeMemory {
 public:
  CodeMemory() = default;
  CodeMemory(CoreGroup& group, i64 bytes) : cluster_(group, static_cast<std::size_t>(bytes)), bytes_(bytes) {
    if (!group.spec().host_memory) host_.resize(static_cast<std::size_t>(bytes / 4));
  }
  i64 bytes() const { return bytes_; }
  void* cluster(i64 place) const { return cluster_.as<char>() + place; }
  HostValues message(i64 place, i64 bytes) const {
    return {host_.empty() ? cluster(place) : host_.data() + place / 4, bytes / 4, Precision::fp32};
  }
  /// Makes the code ready for messages. Waits for the cluster.
  void to_message(CoreGroup& group, i64 place, i64 bytes) const {
    if (!host_.empty()) group.copy(message(place, bytes).data, cluster(place), static_cast<std::size_t>(bytes));
    group.wait();
  }
  void from_message(CoreGroup& group, i64 place, i64 bytes) const {
    if (!host_.empty()) group.copy(cluster(place), message(place, bytes).data, static_cast<std::size_t>(bytes));
  }

 private:
  ClusterMemory cluster_;
  mutable std::vector<float> host_;
  i64 bytes_ = 0;
};

}  // namespace cortado
