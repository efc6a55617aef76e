#pragma once
#include <cstdint>
#include <memory>

#include "backends/reference/programs.h"
#include "core/machine/core_group.h"

namespace cortado::reference {

/// When a device does what is queued: not before somebody waits for it; at once; or at any time that its streams, what
/// is waited for and a seed allow.
enum class Haste { late, early, any };

struct Options {
  int core_groups = 1;            ///< 0 counts as 1
  int lanes = 1;                  ///< 1: serial; more: lanes mode, each body runs as that many lanes
  int cpes = 4;                   ///< compute elements that lines and tiles are spread over, one after the other
  i64 scratch_bytes = 64 * 1024;  ///< of one CPE; SW26010's by default
  bool is_device = false;         ///< memory of its own, and streams of queued work (device_group.h)
  Haste haste = Haste::late;      ///< of a device
  std::uint64_t seed = 1;         ///< of Haste::any
};

std::unique_ptr<Processor> make_processor(const Options& options, Programs programs);

}  // namespace cortado::reference
