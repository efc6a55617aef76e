#pragma once
#include <string>

#include "comm/codec/codec.h"
#include "comm/collective/link.h"

namespace cortado {

/// The connections between devices (Dettmers 2016, section 2.3). Nodes are filled one after another.
struct Links {
  std::string name;
  int devices_per_node = 1;
  Link inside, across;
  /// The time lost, in messages, if more than two devices of a node send to all others at once. Pairs of them share a
  /// switch (section 2.3.1). The paper counts one: 4 devices take as long as 4 messages, not 3.
  double switch_messages = 0;

  int nodes(int devices) const { return (devices + devices_per_node - 1) / devices_per_node; }
  /// Seconds until each device has sent its n-th part of `bytes` to all others. On one node that is n - 1 messages and
  /// the switches' cost. On m nodes of d devices it is d - 1 messages inside, of a (m d)-th each. To these come m - 1
  /// messages across, of an m-th each (section 5.2.2).
  double to_all(int devices, double bytes) const;
};

/// The form in which values are sent.
struct Coding {
  const Codec* codec = nullptr;   ///< nullptr means floats as they are
  double encode = 0, decode = 0;  ///< seconds a value (section 3.2: 1 ns and 0.5 ns)

  double bytes(i64 values) const;
};

/// Seconds of a sum over devices in two rounds: all parts to their owners, sums of parts to all. Section 5.2.2: "once
/// to distribute the raw gradients, twice so we distribute the accumulated gradient". Every device encodes all and its
/// part of the sum, and decodes all of both, if there is a codec.
double sum_seconds(const Links& links, const Coding& coding, int devices, i64 values);
/// Seconds until all devices have all n parts, of which each device has one: a layer's activations, or its errors.
double gather_seconds(const Links& links, const Coding& coding, int devices, i64 values);

}  // namespace cortado
