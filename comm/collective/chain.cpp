// Broadcast along a chain of ranks: whole (Awan et al. 2018, equation 2), or in chunks that are under way on all links
// at once (equation 5). Reduce in chunks goes the other way.
#include <algorithm>
#include <deque>

#include "comm/collective/messages.h"

namespace cortado {
namespace {

/// Messages that a rank awaits at once, so that latency holds up none of them; and messages that leave it unfinished.
constexpr i64 window = 8, most_leaving = 64;

/// Takes turns among messages that are under way.
class Turns {
 public:
  Turns(const Team& team, const std::string& name, i64 count) {
    for (i64 i = 0; i < count; ++i) all_.emplace_back(team, name);
  }
  Messages& of(i64 c) { return all_[static_cast<std::size_t>(c) % all_.size()]; }
  void wait(i64 chunks) {
    for (i64 c = 0; c < static_cast<i64>(all_.size()); ++c) of(c).wait(static_cast<int>(chunks));
  }

 private:
  std::deque<Messages> all_;
};

void pass_on(const Team& team, const HostValues& values, i64 chunk, const std::string& name) {
  const int place = team.place(), last = team.size() - 1;
  const i64 chunks = (values.count + chunk - 1) / chunk;
  const auto part = [&](i64 c) { return values.part(c * chunk, std::min(chunk, values.count - c * chunk)); };
  Turns arriving(team, name, window), leaving(team, name, most_leaving);
  const auto await_chunk = [&](i64 c) {
    if (place > 0 && c < chunks) arriving.of(c).receive(team.rank_at(place - 1), part(c));
  };
  for (i64 c = 0; c < window; ++c) await_chunk(c);
  for (i64 c = 0; c < chunks; ++c) {
    arriving.of(c).wait(static_cast<int>(c));
    await_chunk(c + window);
    if (place == last) continue;
    leaving.of(c).wait(static_cast<int>(c));
    leaving.of(c).send(team.rank_at(place + 1), part(c));
  }
  leaving.wait(chunks);
}

void add_up(const Team& team, const HostValues& values, i64 longest) {
  const int place = team.place(), last = team.size() - 1;
  const i64 chunk = std::max<i64>(1, std::min(longest, values.count)), chunks = (values.count + chunk - 1) / chunk;
  const i64 slots = std::min(window, chunks);
  const auto part = [&](i64 c) { return values.part(c * chunk, std::min(chunk, values.count - c * chunk)); };
  const HostValues memory = scratch(team, values, place < last ? slots * chunk : 0);
  const auto arrived = [&](i64 c) { return memory.part(c % slots * chunk, part(c).count); };
  Turns arriving(team, "chain_pipelined", window), leaving(team, "chain_pipelined", most_leaving);
  const auto await_chunk = [&](i64 c) {
    if (place < last && c < chunks) arriving.of(c).receive(team.rank_at(place + 1), arrived(c));
  };
  for (i64 c = 0; c < slots; ++c) await_chunk(c);
  for (i64 c = 0; c < chunks; ++c) {
    if (place < last) {
      arriving.of(c).wait(static_cast<int>(c));
      team.sum->add(arrived(c), part(c));
      await_chunk(c + slots);
    }
    if (place == 0) continue;
    leaving.of(c).wait(static_cast<int>(c));
    leaving.of(c).send(team.rank_at(place - 1), part(c));
  }
  leaving.wait(chunks);
}

/// The first chunk takes p - 1 steps; the others follow it as fast as links and sums let them. Where chunks that are
/// under way share the bandwidth, a window of them goes on as one. Sums part the chunks of a window again: the next
/// rank waits for half of it.
double pipeline_cost(const Network& net, const JobShape& job, i64 bytes, i64 chunk_bytes, bool sums) {
  if (job.ranks == 1) return 0;
  const double m = static_cast<double>(bytes), c = std::max(1.0, std::min(m, static_cast<double>(chunk_bytes)));
  const Link link = neighbour_link(net, job, c);
  const double chunks = m / c, together = link.in_order ? 1 : std::min(chunks, static_cast<double>(window));
  const double sum = sums ? net.sum(c) : 0;
  const double first = link.seconds(sums ? std::max(1.0, together / 2) * c : together * c) + sum;
  const double each =
      link.in_order ? std::max({c / link.bandwidth + link.gap, sum, link.seconds(c) / static_cast<double>(window)})
                    : std::max(link.seconds(together * c) / together, sum);
  return (job.ranks - 1) * first + std::max(0.0, chunks - together) * each;
}

/// C* = sqrt(n alpha / ((p - 2) beta)), alpha the seconds that a further chunk takes besides its bytes. With sums,
/// which go on beside messages, beta is what the first chunk has more to wait for than the others.
i64 pipeline_chunk(const Network& net, const JobShape& job, i64 bytes, bool sums) {
  const Link link = neighbour_link(net, job, static_cast<double>(bytes));
  const double gamma = sums ? net.byte_summed : 0, beta = 1 / link.bandwidth, start = sums ? net.sum_start : 0;
  const double waited = (job.ranks - 1) * (beta + gamma) - std::max(beta, gamma);
  if (!link.in_order) return std::max(best_chunk(bytes, link.seconds(0) + start, waited) / window, least_chunk);
  return best_chunk(bytes, std::max(link.gap, link.seconds(0) / static_cast<double>(window)) + start, waited);
}

i64 chunk_of(const Team& team, const HostValues& values) {
  return std::max<i64>(1, team.chunk_bytes / bytes_of(values.element));
}

}  // namespace

Algorithm chain_broadcast() {
  return {"chain", "from neighbour to neighbour",
          [](const Team& team, const HostValues& values) {
            pass_on(team, values, std::max<i64>(1, values.count), "chain");
          },
          [](const Network& net, const JobShape& job, i64 bytes, i64, int) {
            const auto n = static_cast<double>(bytes);
            return (job.ranks - 1) * neighbour_link(net, job, n).seconds(n);
          }};
}

Algorithm pipelined_chain() {
  Algorithm algorithm{"chain_pipelined", "from neighbour to neighbour, in chunks",
                      [](const Team& team, const HostValues& values) {
                        pass_on(team, values, chunk_of(team, values), "chain_pipelined");
                      },
                      [](const Network& net, const JobShape& job, i64 bytes, i64 chunk, int) {
                        return pipeline_cost(net, job, bytes, chunk, false);
                      }};
  algorithm.chunk = [](const Network& net, const JobShape& job, i64 bytes) {
    return pipeline_chunk(net, job, bytes, false);
  };
  return algorithm;
}

Algorithm pipelined_chain_reduce() {
  Algorithm algorithm{"chain_pipelined", "from neighbour to neighbour, in chunks",
                      [](const Team& team, const HostValues& values) { add_up(team, values, chunk_of(team, values)); },
                      [](const Network& net, const JobShape& job, i64 bytes, i64 chunk, int) {
                        return pipeline_cost(net, job, bytes, chunk, true);
                      }};
  algorithm.chunk = [](const Network& net, const JobShape& job, i64 bytes) {
    return pipeline_chunk(net, job, bytes, true);
  };
  return algorithm;
}

}  // namespace cortado
