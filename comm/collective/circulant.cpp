// Reduce-scatter and allgather on a circulant graph (Traeff, "Optimal, non-pipelined reduce-scatter and allreduce
// algorithms", 2024): any number of ranks p takes ceil(log2 p) steps each way and sends (p - 1) / p of the values, no
// folding. Each step has a skip s: number v sends to v + s the blocks that others beyond need, and is left with s
// blocks. Here numbers go in turn over supernodes and skips are multiples of the number of supernodes while they can
// be, so that the large early messages stay inside one.
#include <algorithm>

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
  Round(const Span& values, int blocks, int first, int last) {
    const int begin = first % blocks, length = last - first;
    const int before_end = std::min(length, blocks - begin);
    parts_.push_back(block_of(values, blocks, begin, begin + before_end));
    if (before_end < length) parts_.push_back(block_of(values, blocks, 0, length - before_end));
  }
  const std::vector<Span>& parts() const { return parts_; }
  i64 count() const {
    i64 n = 0;
    for (const Span& part : parts_) n += part.count;
    return n;
  }

 private:
  std::vector<Span> parts_;
};

void run(const Team& team, const Span& values) {
  const std::vector<int> numbering = team.topology->round_robin();
  const int p = static_cast<int>(numbering.size());
  const int v = static_cast<int>(std::find(numbering.begin(), numbering.end(), team.rank()) - numbering.begin());
  const auto rank_of = [&](int number) { return numbering[static_cast<std::size_t>((number + p) % p)]; };
  const std::vector<int> skips = skips_for(p, team.topology->supernodes());
  Messages messages(team, "circulant");
  int step = 0;
  for (std::size_t k = 1; k < skips.size(); ++k) {
    const int s = skips[k], before = skips[k - 1];
    const Round theirs(values, p, v + s, v + before), own(values, p, v, v + before - s);
    const Span arrived = scratch(team, values, own.count());
    i64 at = 0;
    for (const Span& part : own.parts()) {
      messages.receive(rank_of(v - s), arrived.part(at, part.count));
      at += part.count;
    }
    for (const Span& part : theirs.parts()) messages.send(rank_of(v + s), part);
    messages.wait(++step);
    at = 0;
    for (const Span& part : own.parts()) {
      team.sum->add(arrived.part(at, part.count), part);
      at += part.count;
    }
  }
  for (std::size_t k = skips.size() - 1; k >= 1; --k) {
    const int s = skips[k], before = skips[k - 1];
    const Round theirs(values, p, v + s, v + before), own(values, p, v, v + before - s);
    for (const Span& part : theirs.parts()) messages.receive(rank_of(v + s), part);
    for (const Span& part : own.parts()) messages.send(rank_of(v - s), part);
    messages.wait(++step);
  }
}

/// 2 ceil(log2 p) alpha + 2 (p - S) / p n beta_1 + 2 (S - 1) / p n beta_2 + (p - 1) / p n gamma, S supernodes: no
/// allreduce that sends every value once each way can do with less.
double cost(const Network& net, const JobShape& job, i64 bytes, i64, int) {
  const double p = job.ranks, n = static_cast<double>(bytes);
  const double supernodes = std::max(1.0, p / job.supernode_ranks);
  return 2 * log2_ceiling(job.ranks) * net.latency + 2 * (p - supernodes) / p * n * net.byte_inside +
         2 * (supernodes - 1) / p * n * net.byte_across + (p - 1) / p * n * net.byte_summed;
}

}  // namespace

Algorithm circulant() {
  return {"circulant", "halving for any number of ranks, numbers in turn over supernodes", run, cost};
}

}  // namespace cortado
