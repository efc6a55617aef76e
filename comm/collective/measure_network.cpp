#include "comm/collective/measure_network.h"

#include <algorithm>

#include "comm/collective/messages.h"
#include "comm/collective/node_memory.h"
#include "comm/wait/calls.h"

namespace cortado {
namespace {
constexpr i64 long_message = i64{1} << 20;  // floats
constexpr int runs = 5;

/// Pairs neighbours of `order`; -1 for the last of an odd number and for who is not in it.
int partner_in(const std::vector<int>& order, int rank) {
  const auto at = std::find(order.begin(), order.end(), rank) - order.begin();
  const auto other = at ^ 1;
  return at < static_cast<std::ptrdiff_t>(order.size()) && other < static_cast<std::ptrdiff_t>(order.size())
             ? order[static_cast<std::size_t>(other)]
             : -1;
}

/// The ranks of a supernode, so that neighbours are on different nodes where there are several.
std::vector<int> supernode_of(const Topology& topology, int rank) {
  const int supernode = topology.supernode[static_cast<std::size_t>(rank)];
  std::vector<int> members, woven;
  for (int r = 0; r < topology.ranks(); ++r)
    if (topology.supernode[static_cast<std::size_t>(r)] == supernode) members.push_back(r);
  const std::size_t half = members.size() / 2;
  for (std::size_t i = 0; i < half; ++i) woven.insert(woven.end(), {members[i], members[i + half]});
  return woven;
}

class Probe {
 public:
  explicit Probe(const Team& team) : team_(team), x_(long_message), y_(long_message) {}

  /// Median seconds of `work`, all beginning together, on the slowest rank.
  template <class Work>
  double time(Work work) const {
    std::vector<double> seconds;
    for (int run = 0; run <= runs; ++run) {
      meet(team_);
      const double begin = MPI_Wtime();
      work();
      if (run > 0) seconds.push_back(MPI_Wtime() - begin);  // the first warms up
    }
    std::sort(seconds.begin(), seconds.end());
    double median = seconds[seconds.size() / 2];
    all_reduce(team_.communicator, "collective 'measure_network'", &median, 1, MPI_DOUBLE, MPI_MAX);
    return median;
  }

  double exchange(int partner, i64 floats) {
    return time([&] {
      if (partner < 0) return;
      Messages messages(team_, "measure_network");
      messages.receive(partner, span(y_, floats));
      messages.send(partner, span(x_, floats));
      messages.wait(1);
    });
  }
  double per_byte(double seconds, double latency) const {
    return std::max(0.0, seconds - latency) / static_cast<double>(4 * long_message);
  }
  double sum() {
    return time([&] { team_.sum->add(span(x_, long_message), span(y_, long_message)); });
  }
  double copy() {
    return time([&] { copy_shared(x_.data(), y_.data(), 4 * long_message); });
  }

 private:
  static HostValues span(std::vector<float>& of, i64 count) { return {of.data(), count, Precision::fp32}; }

  const Team& team_;
  std::vector<float> x_, y_;
};

}  // namespace

Network measure_network(const Team& team) {
  const Topology& topology = *team.topology;
  Network network;
  if (team.size() == 1) return network;
  Probe probe(team);
  const int inside = partner_in(supernode_of(topology, team.rank()), team.rank());
  const int across = partner_in(topology.round_robin(), team.rank());
  const double near = probe.exchange(inside, 2), far = probe.exchange(across, 2);
  network.byte_across = probe.per_byte(probe.exchange(across, long_message), far);
  network.byte_inside = topology.largest_supernode() > 1 ? probe.per_byte(probe.exchange(inside, long_message), near)
                                                         : network.byte_across;
  network.latency = std::max(near, far);
  network.byte_summed = probe.per_byte(probe.sum(), 0);
  network.byte_in_memory = probe.per_byte(probe.copy(), 0);
  if (team.node != nullptr) network.meeting = probe.time([&] { team.node->meet("collective 'measure_network'", 1); });
  return network;
}

}  // namespace cortado
