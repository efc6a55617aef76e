// Broadcast along a chain of ranks: whole (Awan et al. 2018, equation 2), or in chunks that are under way on all links
// at once (equation 5). Reduce in chunks goes the other way.
#include <algorithm>

#include "comm/collective/messages.h"

namespace cortado {
namespace {

void pass_on(const Team& team, const HostValues& values, i64 chunk, const std::string& name) {
  const int rank = team.rank(), last = team.size() - 1;
  const i64 chunks = (values.count + chunk - 1) / chunk;
  const auto part = [&](i64 c) { return values.part(c * chunk, std::min(chunk, values.count - c * chunk)); };
  Messages sends(team, name), even(team, name), odd(team, name);
  Messages* const receives[] = {&even, &odd};
  if (rank > 0 && chunks > 0) even.receive(rank - 1, part(0));
  for (i64 c = 0; c < chunks; ++c) {
    if (rank > 0) {
      if (c + 1 < chunks) receives[(c + 1) % 2]->receive(rank - 1, part(c + 1));
      receives[c % 2]->wait(static_cast<int>(c));
    }
    if (rank < last) sends.send(rank + 1, part(c));
  }
  sends.wait(static_cast<int>(chunks));
}

void add_up(const Team& team, const HostValues& values, i64 longest) {
  const int rank = team.rank(), last = team.size() - 1;
  const i64 chunk = std::max<i64>(1, std::min(longest, values.count)), chunks = (values.count + chunk - 1) / chunk;
  const auto part = [&](i64 c) { return values.part(c * chunk, std::min(chunk, values.count - c * chunk)); };
  const HostValues memory = scratch(team, values, rank < last ? 2 * chunk : 0);
  const auto arrived = [&](i64 c) { return memory.part(c % 2 * chunk, part(c).count); };
  Messages sends(team, "chain_pipelined"), even(team, "chain_pipelined"), odd(team, "chain_pipelined");
  Messages* const receives[] = {&even, &odd};
  if (rank < last && chunks > 0) even.receive(rank + 1, arrived(0));
  for (i64 c = 0; c < chunks; ++c) {
    if (rank < last) {
      if (c + 1 < chunks) receives[(c + 1) % 2]->receive(rank + 1, arrived(c + 1));
      receives[c % 2]->wait(static_cast<int>(c));
      team.sum->add(arrived(c), part(c));
    }
    if (rank > 0) sends.send(rank - 1, part(c));
  }
  sends.wait(static_cast<int>(chunks));
}

/// (n / C + p - 2) steps of C bytes, which take `a_byte` each.
double steps_in_chunks(const Network& net, const JobShape& job, i64 bytes, i64 chunk_bytes, double a_byte) {
  if (job.ranks == 1) return 0;
  const double m = static_cast<double>(bytes), c = std::min(m, static_cast<double>(chunk_bytes));
  return ((c > 0 ? m / c : 1) + job.ranks - 2) * (net.latency + c * a_byte);
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
            return (job.ranks - 1) * (net.latency + static_cast<double>(bytes) * net.byte_inside);
          }};
}

Algorithm pipelined_chain() {
  return {"chain_pipelined", "from neighbour to neighbour, in chunks",
          [](const Team& team, const HostValues& values) {
            pass_on(team, values, chunk_of(team, values), "chain_pipelined");
          },
          [](const Network& net, const JobShape& job, i64 bytes, i64 chunk_bytes, int) {
            return steps_in_chunks(net, job, bytes, chunk_bytes, net.byte_inside);
          }};
}

Algorithm pipelined_chain_reduce() {
  return {"chain_pipelined", "from neighbour to neighbour, in chunks",
          [](const Team& team, const HostValues& values) { add_up(team, values, chunk_of(team, values)); },
          [](const Network& net, const JobShape& job, i64 bytes, i64 chunk_bytes, int) {
            return steps_in_chunks(net, job, bytes, chunk_bytes, net.byte_inside + net.byte_summed);
          }};
}

}  // namespace cortado
