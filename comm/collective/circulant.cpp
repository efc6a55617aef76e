// Allreduce on a circulant graph: a reduce-scatter and an allgather.
#include "comm/collective/circulant.h"

#include <algorithm>
#include <cstring>

#include "comm/collective/messages.h"

namespace cortado {
namespace {

/// Skips from large to small, p itself first, 1 last; each at least half of the one before.
std::vector<int> skips_for(int p, int supernodes) {
  std::vector<int> skips = {p};
  while (skips.back() > 1) {
    const int s = skips.back();
    int next = (s + 1) / 2;
    const int aligned = (next + supernodes - 1) / supernodes * supernodes;
    if (next > supernodes && aligned < s) next = aligned;
    skips.push_back(next);
  }
  return skips;
}

/// Blocks [first, last) counted round: at most two parts of the array.
class Round {
 public:
  Round(const HostValues& values, int blocks, int first, int last) {
    const int begin = first % blocks, length = last - first;
    const int before_end = std::min(length, blocks - begin);
    const auto part = [&](int from, int to) {
      const i64 start = circulant_begin(values.count, blocks, from);
      return values.part(start, circulant_begin(values.count, blocks, to) - start);
    };
    parts_.push_back(part(begin, begin + before_end));
    if (before_end < length) parts_.push_back(part(0, length - before_end));
  }
  const std::vector<HostValues>& parts() const { return parts_; }
  i64 count() const {
    i64 n = 0;
    for (const HostValues& part : parts_) n += part.count;
    return n;
  }

 private:
  std::vector<HostValues> parts_;
};

/// Few ranks, for which a circulant graph would add in an order that depends on the block.
bool goes_at_once(int p) { return p < 8 && (p & (p - 1)) != 0; }

/// Every rank sends each block to its owner at once. Owners add in order of numbers.
void reduce_at_once(const Team& team, const HostValues& values) {
  const CirculantSchedule schedule(*team.topology, team.rank());
  const int p = team.size(), own = schedule.own;
  const auto block = [&](int of) { return Round(values, p, of, of + 1).parts().front(); };
  const auto rank_of = [&](int number) { return schedule.owners[static_cast<std::size_t>(number)]; };
  const HostValues mine = block(own), arrived = scratch(team, values, p * mine.count);
  const auto from = [&](int number) { return number == own ? mine : arrived.part(number * mine.count, mine.count); };
  Messages messages(team, "circulant");
  for (int number = 0; number < p; ++number)
    if (number != own) messages.receive(rank_of(number), from(number));
  for (int k = 1; k < p; ++k) messages.send(rank_of((own + k) % p), block((own + k) % p));
  messages.wait(1);
  for (int number = 1; number < p; ++number) team.sum->add(from(number), from(0));
  if (own != 0 && mine.count > 0) std::memcpy(mine.data, from(0).data, static_cast<std::size_t>(mine.bytes()));
}

/// 2 ceil(log2 p) alpha + 2 (p - S) / p n beta_1 + 2 (S - 1) / p n beta_2 + (p - 1) / p n gamma, S supernodes: no
/// allreduce that sends every value once each way can do with less. Each step is counted by its own link. Where blocks
/// go at once, the first half is alpha + (p - 2) g + (p - 1) / p n beta, by the slowest alpha; g is the gap between
/// messages that are under way.
double circulant_cost(const Network& net, const JobShape& job, i64 bytes, i64, int) {
  const int supernodes = job.supernodes();
  const auto link_over = [&](int distance) -> const Link& {
    return distance % supernodes != 0 ? net.across : link_at(net, job, distance / supernodes);
  };
  const bool at_once = goes_at_once(job.ranks);
  const std::vector<int> skips = skips_for(job.ranks, supernodes);
  double seconds = 0;
  for (std::size_t k = 1; k < skips.size(); ++k) {
    const double part = static_cast<double>(bytes) * (skips[k - 1] - skips[k]) / job.ranks;
    seconds += (at_once ? 1 : 2) * link_over(skips[k]).seconds(part) + net.sum(part);
  }
  const double block = static_cast<double>(bytes) / job.ranks;
  double slowest = 0, saved = 0, all = 0;  // saved: what the slowest adds besides its latency
  for (int distance = 1; at_once && distance < job.ranks; ++distance) {
    const Link& link = link_over(distance);
    const double more = link.gap + block / link.bandwidth;
    all += more;
    if (link.seconds(block) <= slowest) continue;
    slowest = link.seconds(block);
    saved = more;
  }
  return seconds + slowest + all - saved;
}

}  // namespace

CirculantSchedule::CirculantSchedule(const Topology& topology, int rank) : owners(topology.round_robin()) {
  const int p = static_cast<int>(owners.size());
  own = static_cast<int>(std::find(owners.begin(), owners.end(), rank) - owners.begin());
  const auto rank_of = [&](int number) { return owners[static_cast<std::size_t>((number + p) % p)]; };
  const std::vector<int> skips = skips_for(p, topology.supernodes());
  for (std::size_t k = 1; k < skips.size(); ++k) {
    const int s = skips[k], before = skips[k - 1];
    steps.push_back({rank_of(own + s), rank_of(own - s), own + s, own + before, own, own + before - s});
  }
}

i64 circulant_begin(i64 count, int ranks, int block) {
  constexpr i64 lanes = 32;
  return std::min(count, lanes * block_begin((count + lanes - 1) / lanes, ranks, block));
}

void reduce_scatter(const Team& team, const HostValues& values) {
  if (goes_at_once(team.size())) return reduce_at_once(team, values);
  const CirculantSchedule schedule(*team.topology, team.rank());
  const int p = team.size();
  Messages messages(team, "circulant");
  int number = 0;
  for (const CirculantStep& step : schedule.steps) {
    const Round sent(values, p, step.sent_first, step.sent_last), added(values, p, step.added_first, step.added_last);
    const HostValues arrived = scratch(team, values, added.count());
    i64 at = 0;
    for (const HostValues& part : added.parts()) {
      messages.receive(step.from, arrived.part(at, part.count));
      at += part.count;
    }
    for (const HostValues& part : sent.parts()) messages.send(step.to, part);
    messages.wait(++number);
    at = 0;
    for (const HostValues& part : added.parts()) {
      team.sum->add(arrived.part(at, part.count), part);
      at += part.count;
    }
  }
}

void allgather(const Team& team, const HostValues& values) {
  const CirculantSchedule schedule(*team.topology, team.rank());
  const int p = team.size();
  Messages messages(team, "circulant");
  int number = static_cast<int>(schedule.steps.size());
  for (auto step = schedule.steps.rbegin(); step != schedule.steps.rend(); ++step) {
    const Round arriving(values, p, step->sent_first, step->sent_last);
    const Round complete(values, p, step->added_first, step->added_last);
    for (const HostValues& part : arriving.parts()) messages.receive(step->to, part);
    for (const HostValues& part : complete.parts()) messages.send(step->from, part);
    messages.wait(++number);
  }
}

Algorithm circulant() {
  return {"circulant", "halving for any number of ranks, numbers in turn over supernodes",
          [](const Team& team, const HostValues& values) {
            reduce_scatter(team, values);
            allgather(team, values);
          },
          circulant_cost};
}

}  // namespace cortado
