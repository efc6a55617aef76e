#pragma once
#include <string>
#include <vector>

#include "comm/codec/codec.h"

namespace cortado {

/// A way that messages take: PCIe inside a node, a network between nodes.
struct Link {
  struct Point {
    double bytes, seconds;
  };
  /// Of a message, by its size, sizes growing: in between interpolated, outside as at the end. One point: of every
  /// message. None: nothing.
  std::vector<Point> latency;
  double bandwidth = 12e9;  ///< bytes a second

  /// latency(bytes) + bytes / bandwidth
  double seconds(double bytes) const;
};

/// How devices reach each other (Dettmers 2016, section 2.3). Nodes are filled one after another.
struct Links {
  std::string name;
  int devices_per_node = 1;
  Link inside, across;
  /// Messages' times lost where more than two devices of a node send to all others at once: pairs of them share a
  /// switch (section 2.3.1). The paper counts one: 4 devices take as long as 4 messages, not 3.
  double switch_messages = 0;

  int nodes(int devices) const { return (devices + devices_per_node - 1) / devices_per_node; }
  /// Seconds until each device has sent its n-th part of `bytes` to all others: on one node, n - 1 messages and what
  /// switches cost; on m nodes of d devices, d - 1 messages inside of a (m d)-th and m - 1 messages across of an m-th
  /// (section 5.2.2).
  double to_all(int devices, double bytes) const;
};

/// What values are sent as.
struct Coding {
  const Codec* codec = nullptr;   ///< null: floats as they are
  double encode = 0, decode = 0;  ///< seconds a value (section 3.2: 1 ns and 0.5 ns)

  double bytes(i64 values) const;
};

/// Seconds that a sum over devices takes in two rounds: all parts to their owners, sums of parts to all (section
/// 5.2.2: "once to distribute the raw gradients, twice so we distribute the accumulated gradient"). With a codec every
/// device encodes all and its part of the sum, and decodes all of both.
double sum_seconds(const Links& links, const Coding& coding, int devices, i64 values);
/// Seconds until all devices have what each has an n-th part of: a layer's activations, or its errors.
double gather_seconds(const Links& links, const Coding& coding, int devices, i64 values);

}  // namespace cortado
