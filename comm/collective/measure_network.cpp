#include "comm/collective/measure_network.h"

#include <algorithm>
#include <map>

#include "comm/collective/messages.h"
#include "comm/collective/node_memory.h"
#include "comm/wait/calls.h"

namespace cortado {
namespace {
constexpr i64 most_floats = i64{1} << 20;  // floats
// Longer messages follow from the last two, once those are long in both ways, or take too long to wait for.
constexpr double long_enough = 0.06, too_long = 0.3;  // seconds
constexpr i64 long_message = i64{1} << 20;
constexpr double time_for_repeats = 0.04;
constexpr int least_repeats = 2, most_repeats = 15;

bool is_last(const Link::Point& point) {
  return point.seconds > too_long || (point.seconds > long_enough && point.bytes >= long_message);
}

/// Ranks of each group in turn, so that neighbours are in different groups while there are several.
std::vector<int> in_turn(const std::map<int, std::vector<int>>& groups) {
  std::vector<int> order;
  std::size_t count = 0;
  for (const auto& [number, members] : groups) count += members.size();
  for (std::size_t turn = 0; order.size() < count; ++turn)
    for (const auto& [number, members] : groups)
      if (turn < members.size()) order.push_back(members[turn]);
  return order;
}

/// The ranks that share this one's `outer` group, by `inner` group.
std::vector<int> members_in_turn(const std::vector<int>& outer, const std::vector<int>& inner, std::size_t rank) {
  std::map<int, std::vector<int>> groups;
  for (std::size_t r = 0; r < outer.size(); ++r)
    if (outer[r] == outer[rank]) groups[inner[r]].push_back(static_cast<int>(r));
  return in_turn(groups);
}

/// Pairs neighbours of `order`; -1 for the last of an odd number.
int partner_in(const std::vector<int>& order, int rank) {
  const auto at = static_cast<std::size_t>(std::find(order.begin(), order.end(), rank) - order.begin());
  const std::size_t other = at ^ 1;
  return other < order.size() ? order[other] : -1;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Longer messages take no less: neighbours that say otherwise get their mean.
void straighten(std::vector<Link::Point>& points) {
  std::vector<std::pair<double, std::size_t>> steps;  // seconds, points
  for (const Link::Point& point : points) {
    steps.emplace_back(point.seconds, 1);
    while (steps.size() > 1 && steps[steps.size() - 2].first > steps.back().first) {
      const auto [seconds, count] = steps.back();
      steps.pop_back();
      auto& before = steps.back();
      before.first = (before.first * static_cast<double>(before.second) + seconds * static_cast<double>(count)) /
                     static_cast<double>(before.second + count);
      before.second += count;
    }
  }
  std::size_t i = 0;
  for (const auto& [seconds, count] : steps)
    for (std::size_t k = 0; k < count; ++k) points[i++].seconds = seconds;
}

class Probe {
 public:
  explicit Probe(const Team& team)
      : team_(team), x_(static_cast<std::size_t>(most_floats)), y_(static_cast<std::size_t>(most_floats)) {}

  /// Median seconds of `work`, the mean of ranks that take part. All begin together, then each goes on by itself.
  template <class Work>
  double time(Work work, bool takes_part = true) const {
    meet(team_);
    work();  // warms up
    const double warm = MPI_Wtime();
    work();
    std::vector<double> seconds;
    const int repeats = repeats_of(MPI_Wtime() - warm);
    work();
    double begin = MPI_Wtime();
    for (int i = 0; i < repeats; ++i) {
      work();
      const double end = MPI_Wtime();
      seconds.push_back(end - begin);
      begin = end;
    }
    return mean(median_of(seconds), takes_part);
  }

  /// Exchanges with the partner follow each other: each begins as the last one has ended on both sides, as steps of
  /// collectives do.
  double exchange(int partner, i64 bytes, int messages) {
    return time(
        [&] {
          if (partner < 0) return;
          Messages all(team_, "measure_network");
          for (int i = 0; i < messages; ++i) all.receive(partner, span(y_, bytes / 4, i * bytes / 4));
          for (int i = 0; i < messages; ++i) all.send(partner, span(x_, bytes / 4));
          all.wait(1);
        },
        partner >= 0);
  }

  Link link(int partner) {
    std::vector<Link::Point> points;
    for (i64 bytes = 8; bytes <= 4 * most_floats; bytes = bytes == 8 ? 1024 : 4 * bytes) {
      points.push_back({static_cast<double>(bytes), exchange(partner, bytes, 1)});
      if (is_last(points.back())) break;
    }
    straighten(points);
    constexpr int many = 9;
    Link link = Link::through(points);
    link.in_order = arrive_in_order(partner, link.bandwidth);
    for (std::size_t i = 1; i + 1 < points.size() && is_sent_at_once(partner, points[i]); ++i)
      link.sent_at_once = points[i].bytes;
    link.gap = std::max(1e-8, (exchange(partner, 1024, many) - points[1].seconds) / (many - 1));
    return link;
  }

  /// True if the first of some messages to the partner arrives well before the last.
  bool arrive_in_order(int partner, double bandwidth) {
    constexpr i64 floats = 16384, messages = 4;
    double apart = 0;
    time([&] {
      if (partner < 0) return;
      Messages first(team_, "measure_network"), rest(team_, "measure_network");
      for (i64 i = 0; i < messages; ++i) {
        (i == 0 ? first : rest).receive(partner, span(y_, floats, i * floats));
        rest.send(partner, span(x_, floats));
      }
      first.wait(1);
      const double begin = MPI_Wtime();
      rest.wait(2);
      apart = std::max(apart, MPI_Wtime() - begin);
    });
    return slowest(apart) > 4 * floats * (messages - 1) / bandwidth / 2;
  }

  /// True if such a message counts as sent well before it can have arrived.
  bool is_sent_at_once(int partner, const Link::Point& message) {
    double sending = 0;
    const i64 floats = static_cast<i64>(message.bytes) / 4;
    time([&] {
      if (partner < 0) return;
      Messages in(team_, "measure_network"), out(team_, "measure_network");
      in.receive(partner, span(y_, floats));
      const double begin = MPI_Wtime();
      out.send(partner, span(x_, floats));
      out.wait(1);
      sending = std::max(sending, MPI_Wtime() - begin);
      in.wait(2);
    });
    return slowest(sending) < message.seconds / 2;
  }

  std::vector<Link::Point> library(const std::string& collective) {
    const Algorithm& algorithm = find_algorithm(algorithms_of(collective), "library");
    std::vector<Link::Point> points;
    for (i64 bytes = 4096; bytes <= 4 * most_floats; bytes *= 4) {
      // Over a meeting, which takes all ranks equally long however they come and go.
      const double meeting = time([&] { meet(team_); });
      const double both = time([&] {
        algorithm.run(team_, span(x_, bytes / 4));
        meet(team_);
      });
      points.push_back({static_cast<double>(bytes), std::max(both - meeting, both / 8)});
      if (is_last(points.back())) break;
    }
    return points;
  }

  double sum(i64 floats) {
    return time([&] { team_.sum->add(span(x_, floats), span(y_, floats)); });
  }
  double copy() {
    return time([&] { copy_shared(x_.data(), y_.data(), 4 * most_floats); });
  }

 private:
  static HostValues span(std::vector<float>& of, i64 count, i64 first = 0) {
    return {of.data() + first, count, Precision::fp32};
  }
  /// The times that work is repeated which took so long, the same on all ranks.
  int repeats_of(double seconds) const {
    const double fit = time_for_repeats / std::max(slowest(seconds), 1e-9);
    return static_cast<int>(std::clamp(fit, 1.0 * least_repeats, 1.0 * most_repeats));
  }
  /// The mean of the ranks that take part.
  double mean(double seconds, bool takes_part = true) const {
    double sums[2] = {takes_part ? seconds : 0, takes_part ? 1.0 : 0.0};
    all_reduce(team_.communicator, "collective 'measure_network'", sums, 2, MPI_DOUBLE, MPI_SUM);
    return sums[1] > 0 ? sums[0] / sums[1] : 0;
  }
  double slowest(double seconds) const {
    all_reduce(team_.communicator, "collective 'measure_network'", &seconds, 1, MPI_DOUBLE, MPI_MAX);
    return seconds;
  }

  const Team& team_;
  std::vector<float> x_, y_;
};

}  // namespace

Network measure_network(const Team& team, bool library) {
  const Topology& topology = *team.topology;
  Network network;
  if (team.size() == 1) return network;
  Probe probe(team);
  const auto rank = static_cast<std::size_t>(team.rank());
  const std::vector<int> all(topology.node.size(), 0), own = topology.natural();
  const auto link = [&](const std::vector<int>& outer, const std::vector<int>& inner) {
    return probe.link(partner_in(members_in_turn(outer, inner, rank), team.rank()));
  };
  const bool has_nodes = topology.nodes()<topology.ranks(), has_supernodes = topology.supernodes()> 1;
  const bool has_links = topology.nodes() > topology.supernodes();
  if (has_nodes) network.in_node = link(topology.node, own);
  if (has_links) network.inside = link(topology.supernode, topology.node);
  if (has_supernodes) network.across = link(all, topology.supernode);
  // Levels that the job does not have are as the next one that it has.
  if (!has_links) network.inside = has_supernodes ? network.across : network.in_node;
  if (!has_nodes) network.in_node = network.inside;
  if (!has_supernodes) network.across = network.inside;
  constexpr i64 few = 1024;
  const double many_summed = probe.sum(most_floats), few_summed = probe.sum(few);
  network.byte_summed = std::max(0.0, many_summed - few_summed) / static_cast<double>(4 * (most_floats - few));
  network.sum_start = std::max(0.0, few_summed - network.byte_summed * 4 * few);
  network.byte_in_memory = std::max(1e-12, probe.copy() / static_cast<double>(4 * most_floats));
  if (team.node != nullptr)
    network.meeting = std::max(1e-9, probe.time([&] { team.node->meet("collective 'measure_network'", 1); }));
  if (library)
    for (const char* collective : {"allreduce", "reduce", "broadcast"})
      network.library[collective] = probe.library(collective);
  return network;
}

}  // namespace cortado
