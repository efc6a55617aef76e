#pragma once
#include <vector>

namespace cortado {

/// A way that messages take: PCIe inside a node, a network between nodes.
struct Link {
  struct Point {
    double bytes, seconds;
  };
  /// The latency of a message by its size, sizes growing. It is interpolated between points and constant outside. One
  /// point holds for every message; none means no latency.
  std::vector<Point> latency;
  double bandwidth = 12e9;  ///< bytes a second
  double gap = 0;           ///< seconds that a further message adds while others are under way, besides its bytes
  /// True if messages that are under way at once arrive one after another; false if they share the bandwidth, and
  /// arrive together in the end.
  bool in_order = true;
  /// The bytes up to which a message counts as sent as soon as it is under way.
  double sent_at_once = 0;

  /// latency(bytes) + bytes / bandwidth
  double seconds(double bytes) const;
  /// The same link when only `share` of those send for whom it holds: each has so much more of its bandwidth.
  Link shared_by(double share) const;

  /// A link whose messages take what was measured. Beyond the longest message it goes on as between the last two. Sizes
  /// grow, and there is one point at least.
  static Link through(const std::vector<Point>& measured);
};

/// The seconds at `bytes` on the line through points whose sizes grow. Before the first point it is that one's; behind
/// the last it goes on as between the last two, not falling. 0 without points.
double on_line(const std::vector<Link::Point>& points, double bytes);

}  // namespace cortado
