// Broadcast along a k-nomial tree (Awan et al. 2018, equation 3): in each round those who have the values send them to
// k - 1 others.
#include "comm/collective/messages.h"

namespace cortado {
namespace {

void run(const Team& team, const Span& values) {
  const int p = team.size(), rank = team.rank(), k = team.radix < 2 ? 2 : team.radix;
  Messages messages(team, "knomial");
  i64 span = 1;  // ranks below the one at hand, in the tree
  for (; span < p && rank % (span * k) == 0; span *= k) {}
  int step = 0;
  if (rank > 0) {
    messages.receive(static_cast<int>(rank - rank % (span * k)), values);
    messages.wait(++step);
  }
  for (i64 below = rank == 0 ? span / k : span / k; below >= 1; below /= k) {
    for (int child = 1; child < k; ++child)
      if (rank + child * below < p) messages.send(static_cast<int>(rank + child * below), values);
    messages.wait(++step);
  }
}

/// ceil(log_k p) rounds; in each a rank sends up to k - 1 times.
double cost(const Network& net, const JobShape& job, i64 bytes, i64, int radix) {
  int rounds = 0;
  for (i64 reached = 1; reached < job.ranks; reached *= radix) ++rounds;
  return rounds * (radix - 1) * (net.latency + static_cast<double>(bytes) * net.byte_inside);
}

}  // namespace

Algorithm knomial_broadcast() { return {"knomial", "k-nomial tree", run, cost}; }

}  // namespace cortado
