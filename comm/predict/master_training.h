#pragma once
#include "core/base/types.h"

namespace cortado {

/// The devices of a node as in ScaleDNN's figure 1(a). Its sockets are linked in a row. Each has a PCIe bridge with
/// some of the devices. All rates are bytes a second, of a link in either direction.
struct DeviceTree {
  int devices = 4, devices_per_bridge = 2;
  double device_link = 1, bridge_link = 1, socket_link = 1;
  double host_copies = 1;    ///< the host's rate to all devices together
  double latency = 0;        ///< seconds, of a copy or a collective's step
  double chunk = 1 << 22;    ///< bytes that collectives send at a time
  double memory = 1;         ///< of a device
  double launch = 0;         ///< seconds to start a program
  double update_passes = 5;  ///< floats read or written by the update of a weight
};

/// The work of an iteration.
struct MasterWork {
  double batch_bytes = 0;   ///< of all devices
  double compute = 0;       ///< seconds of forward and backward for a device's part of it
  double weight_bytes = 0;  ///< as floats
  i64 blobs = 0;            ///< that weights lie in
};

/// The ways of data. The default: the whole batch goes to device 0, which hands out parts, as it does weights.
struct MasterScheme {
  bool split_and_preload = false;  ///< parts go from the host to their devices while the batch before is computed
  double weight_bytes = 4;         ///< of a weight in the broadcast; below 4 it is encoded and decoded
};

/// Seconds of one of many iterations: `total` is their mean, the others are those of the last one.
struct MasterIteration {
  double total = 0;
  double host_copy = 0, scatter = 0;  ///< from the first begin to the last end, whatever runs meanwhile
  double broadcast = 0;               ///< of weights, encoding and decoding with it
  double reduce = 0;
  double compute = 0, update = 0;  ///< of a device, and of device 0

  /// The seconds for which devices wait: all but their own work.
  double movement() const { return total - compute - update; }
};

/// Simulates the iterations of ScaleDNN's figure 2, one after another. The batch goes to device 0, parts to the others,
/// and weights in chunks along the devices. Forward and backward follow. Gradients go in chunks back along the devices,
/// and device 0 updates. `scheme` changes it (sections IV-A to IV-C).
MasterIteration simulate_master_training(const DeviceTree& tree, const MasterWork& work, const MasterScheme& scheme);

}  // namespace cortado
