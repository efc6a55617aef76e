#pragma once
#include <string>
#include <vector>

namespace cortado {

/// Which of a node's devices (GPUs) a process may use, as the user says, and how the ranks of a node share them.
struct DeviceChoice {
  std::vector<int> numbers;             ///< in this order; empty: all that the node has
  bool all = false;                     ///< core groups on all of them, too
  int local_rank = 0, local_ranks = 1;  ///< of this process among those of its node
};

/// Reads "0,1" or "all", split at the commas; nothing: no choice. Throws ConfigError for other words.
DeviceChoice parse_devices(const std::vector<std::string>& words);

/// The device of each core group of this process; several may share one. `core_groups` 0: one for each chosen device
/// that falls to this process, one in all where the user chose none. The ranks of a node take the devices in turn: core
/// group i of local rank r gets number r core_groups + i of the list, beginning again at its end. Throws ConfigError
/// for devices that are not among the `available`, and for numbers of devices that ranks cannot share evenly.
std::vector<int> devices_of_core_groups(const DeviceChoice& choice, int available, int core_groups);

}  // namespace cortado
