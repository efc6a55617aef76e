// Broadcast along a k-nomial tree (Awan et al. 2018, equation 3): in each round those who have the values send them to
// k - 1 others. Reduce goes the other way.
#include <algorithm>

#include "comm/collective/messages.h"

namespace cortado {
namespace {

/// A rank's place in the tree.
struct Place {
  explicit Place(const Team& of) : team(of), p(of.size()), place(of.place()), k(of.radix < 2 ? 2 : of.radix) {
    for (; span < p && place % (span * k) == 0; span *= k) {}
  }
  int parent() const { return team.rank_at(static_cast<int>(place - place % (span * k))); }
  /// The children that lie `below` apart.
  std::vector<int> children(i64 below) const {
    std::vector<int> all;
    for (int child = 1; child < k; ++child)
      if (place + child * below < p) all.push_back(team.rank_at(static_cast<int>(place + child * below)));
    return all;
  }

  const Team& team;
  const int p, place, k;
  i64 span = 1;  // ranks below this one, itself among them, unless the last ones are missing
};

void send_down(const Team& team, const HostValues& values) {
  const Place place(team);
  Messages messages(team, "knomial");
  int step = 0;
  if (place.place > 0) {
    messages.receive(place.parent(), values);
    messages.wait(++step);
  }
  for (i64 below = place.span / place.k; below >= 1; below /= place.k) {
    for (const int child : place.children(below)) messages.send(child, values);
    messages.wait(++step);
  }
}

void sum_up(const Team& team, const HostValues& values) {
  const Place place(team);
  Messages messages(team, "knomial");
  int step = 0;
  for (i64 below = 1; below < place.span; below *= place.k) {
    const std::vector<int> children = place.children(below);
    const auto n = static_cast<i64>(children.size());
    const HostValues arrived = scratch(team, values, n * values.count);
    for (i64 c = 0; c < n; ++c)
      messages.receive(children[static_cast<std::size_t>(c)], arrived.part(c * values.count, values.count));
    messages.wait(++step);
    for (i64 c = 0; c < n; ++c) team.sum->add(arrived.part(c * values.count, values.count), values);
  }
  if (place.place == 0) return;
  messages.send(place.parent(), values);
  messages.wait(++step);
}

/// The sum over rounds j of alpha + (k - 2) g + (k - 1) n beta, and of k - 1 sums of n in a reduce: a rank's messages
/// of a round are under way at once.
double rounds_cost(const Network& net, const JobShape& job, i64 bytes, int radix, bool sums) {
  const auto n = static_cast<double>(bytes);
  double seconds = 0, nearer = 0;
  for (i64 distance = 1; distance < job.ranks; distance *= radix) {
    const auto others = static_cast<double>(std::min<i64>(radix - 1, (job.ranks - 1) / distance));
    const Link link = lone_link_at(net, job, static_cast<int>(others) * static_cast<int>(distance));
    // A broadcast's short messages of later rounds go out at once, and may share the link.
    const bool is_shared = !sums && !link.in_order && n <= link.sent_at_once;
    const double further = others - 1 + (is_shared ? nearer : 0);
    seconds += link.seconds(n) + further * (link.gap + n / link.bandwidth) + (sums ? others * net.sum(n) : 0);
    nearer += others;
  }
  return seconds;
}

}  // namespace

Algorithm knomial_broadcast() {
  Algorithm algorithm{"knomial", "k-nomial tree", send_down,
                      [](const Network& net, const JobShape& job, i64 bytes, i64, int k) {
                        return rounds_cost(net, job, bytes, k, false);
                      }};
  algorithm.has_radix = true;
  return algorithm;
}

Algorithm knomial_reduce() {
  Algorithm algorithm{"knomial", "k-nomial tree", sum_up,
                      [](const Network& net, const JobShape& job, i64 bytes, i64, int k) {
                        return rounds_cost(net, job, bytes, k, true);
                      }};
  algorithm.has_radix = true;
  return algorithm;
}

}  // namespace cortado
