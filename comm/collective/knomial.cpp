// Broadcast along a k-nomial tree (Awan et al. 2018, equation 3): in each round those who have the values send them to
// k - 1 others. Reduce goes the other way.
#include "comm/collective/messages.h"

namespace cortado {
namespace {

/// A rank's place in the tree.
struct Place {
  explicit Place(const Team& team) : p(team.size()), rank(team.rank()), k(team.radix < 2 ? 2 : team.radix) {
    for (; span < p && rank % (span * k) == 0; span *= k) {}
  }
  int parent() const { return static_cast<int>(rank - rank % (span * k)); }
  /// The children that lie `below` apart.
  std::vector<int> children(i64 below) const {
    std::vector<int> all;
    for (int child = 1; child < k; ++child)
      if (rank + child * below < p) all.push_back(static_cast<int>(rank + child * below));
    return all;
  }

  const int p, rank, k;
  i64 span = 1;  // ranks below this one, itself among them, unless the last ones are missing
};

void send_down(const Team& team, const HostValues& values) {
  const Place place(team);
  Messages messages(team, "knomial");
  int step = 0;
  if (place.rank > 0) {
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
  if (place.rank == 0) return;
  messages.send(place.parent(), values);
  messages.wait(++step);
}

int rounds(int ranks, int radix) {
  int count = 0;
  for (i64 reached = 1; reached < ranks; reached *= radix) ++count;
  return count;
}

}  // namespace

/// ceil(log_k p) rounds; in each a rank sends up to k - 1 times.
Algorithm knomial_broadcast() {
  return {
      "knomial", "k-nomial tree", send_down, [](const Network& net, const JobShape& job, i64 bytes, i64, int radix) {
        return rounds(job.ranks, radix) * (radix - 1) * (net.latency + static_cast<double>(bytes) * net.byte_inside);
      }};
}

/// Takes as many rounds as the broadcast, with a sum for every message.
Algorithm knomial_reduce() {
  return {"knomial", "k-nomial tree", sum_up, [](const Network& net, const JobShape& job, i64 bytes, i64, int radix) {
            return rounds(job.ranks, radix) * (radix - 1) *
                   (net.latency + static_cast<double>(bytes) * (net.byte_inside + net.byte_summed));
          }};
}

}  // namespace cortado
