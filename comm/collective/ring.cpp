// The ring: p - 1 steps of reduce-scatter, in each of which every rank sends one block to its right neighbour and sums
// the one that arrives; then p - 1 steps that pass the sums on. Few bytes cross supernodes at a time, but the latency
// grows with p. Pipelined, blocks travel in chunks, and a chunk is summed while the next one arrives.
#include <algorithm>

#include "comm/collective/messages.h"

namespace cortado {
namespace {

void pass_round(const Team& team, const HostValues& values, i64 chunk, const std::string& name) {
  const int p = team.size(), rank = team.rank(), right = (rank + 1) % p, left = (rank + p - 1) % p;
  const auto block = [&](int b) { return block_of(values, p, (b + p) % p, (b + p) % p + 1); };
  Messages even(team, name), odd(team, name);
  Messages* const turns[] = {&even, &odd};
  const HostValues arrived = scratch(team, values, 2 * chunk);
  const auto chunk_of = [&](const HostValues& of, i64 c) {
    const i64 first = std::min(c * chunk, of.count);
    return of.part(first, std::min(chunk, of.count - first));
  };
  const i64 chunks = (block_begin(values.count, p, 1) + chunk - 1) / chunk;  // of the longest block
  for (int step = 0; step + 1 < p; ++step) {
    const HostValues leaves = block(rank - step), own = block(rank - step - 1);
    for (i64 c = 0; c <= chunks; ++c) {
      if (c < chunks) {
        Messages& turn = *turns[c % 2];
        turn.receive(left, arrived.part(c % 2 * chunk, chunk_of(own, c).count));
        turn.send(right, chunk_of(leaves, c));
      }
      if (c > 0) {
        turns[(c - 1) % 2]->wait(step + 1);
        const HostValues mine = chunk_of(own, c - 1);
        team.sum->add(arrived.part((c - 1) % 2 * chunk, mine.count), mine);
      }
    }
  }
  for (int step = 0; step + 1 < p; ++step) {
    even.receive(left, block(rank - step));
    even.send(right, block(rank + 1 - step));
    even.wait(p + step);
  }
}

/// 2 (p - 1) alpha + 2 (p - 1) / p n beta_1 + (p - 1) / p n gamma: one message at a time leaves a supernode.
double ring_cost(const Network& net, const JobShape& job, i64 bytes, i64, int) {
  const double block = static_cast<double>(bytes) / job.ranks;
  return (job.ranks - 1) * (2 * neighbour_link(net, job, block).seconds(block) + net.sum(block));
}

/// Seconds of a further chunk beside its bytes: two are under way at once.
double further_chunk(const Network& net, const Link& link) {
  return std::max(link.gap, link.seconds(0) / 2) + net.sum_start;
}

/// The same with sums hidden behind messages, or messages behind sums, but for one chunk a step.
double pipelined_cost(const Network& net, const JobShape& job, i64 bytes, i64 chunk_bytes, int) {
  const double block = static_cast<double>(bytes) / job.ranks,
               chunk = std::min(block, static_cast<double>(chunk_bytes));
  const Link link = neighbour_link(net, job, chunk);
  const double more = chunk > 0 ? block / chunk - 1 : 0;
  const double further = further_chunk(net, link) + chunk * std::max(1 / link.bandwidth, net.byte_summed);
  return (job.ranks - 1) * (link.seconds(chunk) + more * further + net.sum(chunk) + link.seconds(block));
}

/// Of a step, bytes are waited for by the sum of one chunk or by its message.
i64 ring_chunk(const Network& net, const JobShape& job, i64 bytes) {
  const i64 block = (bytes + job.ranks - 1) / job.ranks;
  const Link link = neighbour_link(net, job, static_cast<double>(block));
  return best_chunk(block, further_chunk(net, link), std::min(1 / link.bandwidth, net.byte_summed));
}

}  // namespace

Algorithm ring() {
  return {"ring", "ring",
          [](const Team& team, const HostValues& values) {
            pass_round(team, values, std::max<i64>(1, block_begin(values.count, team.size(), 1)), "ring");
          },
          ring_cost};
}

Algorithm pipelined_ring() {
  Algorithm algorithm{"ring_pipelined", "ring in chunks",
                      [](const Team& team, const HostValues& values) {
                        pass_round(team, values, std::max<i64>(1, team.chunk_bytes / bytes_of(values.element)),
                                   "ring_pipelined");
                      },
                      pipelined_cost};
  algorithm.chunk = ring_chunk;
  return algorithm;
}

}  // namespace cortado
