// Broadcast by a binomial scatter and a ring allgather (Awan et al. 2018, equation 4): each link carries the values
// about twice, however many ranks there are.
#include <algorithm>

#include "comm/collective/messages.h"

namespace cortado {
namespace {

void run_scatter(const Team& team, const HostValues& values) {
  const int p = team.size(), rank = team.place();  // counted from the root
  Messages messages(team, "scatter");
  int step = 0, below = 1;  // ranks whose blocks come through this one
  while (below < p && rank % (2 * below) == 0) below *= 2;
  if (rank > 0) {
    messages.receive(team.rank_at(rank - below), block_of(values, p, rank, std::min(rank + below, p)));
    messages.wait(++step);
  }
  for (int half = below / 2; half >= 1; half /= 2) {
    if (rank + half >= p) continue;
    // One after another: the largest has the longest way to go.
    messages.send(team.rank_at(rank + half), block_of(values, p, rank + half, std::min(rank + 2 * half, p)));
    messages.wait(++step);
  }
  const int right = team.rank_at((rank + 1) % p), left = team.rank_at((rank + p - 1) % p);
  const auto block = [&](int b) { return block_of(values, p, (b + p) % p, (b + p) % p + 1); };
  for (int pass = 0; pass + 1 < p; ++pass) {
    messages.receive(left, block(rank - pass - 1));
    messages.send(right, block(rank - pass));
    messages.wait(++step);
  }
}

/// (ceil(log2 p) + p - 1) alpha + 2 (p - 1) / p n beta, by the links of each step.
double scatter_cost(const Network& net, const JobShape& job, i64 bytes, i64, int) {
  const double p = job.ranks, block = static_cast<double>(bytes) / p;
  double seconds = 0;
  for (int distance = 1; distance < job.ranks; distance *= 2)
    seconds += lone_link_at(net, job, distance).seconds(block * std::min(distance, job.ranks - distance));
  return seconds + (p - 1) * neighbour_link(net, job, block).seconds(block);
}

}  // namespace

Algorithm scatter_broadcast() {
  return {"scatter_allgather", "binomial scatter, ring allgather", run_scatter, scatter_cost};
}

}  // namespace cortado
