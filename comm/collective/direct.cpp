// Broadcast, direct: the root sends to everybody (Awan et al. 2018, equation 1).
#include "comm/collective/messages.h"

namespace cortado {

/// alpha + (p - 2) g + (p - 1) n beta: messages of one rank are under way at once, which Awan et al. leave out. g is
/// the gap between them.
Algorithm direct_broadcast() {
  return {"direct", "the root sends to all",
          [](const Team& team, const HostValues& values) {
            Messages messages(team, "direct");
            if (team.place() > 0) messages.receive(team.root, values);
            for (int to = 1; team.place() == 0 && to < team.size(); ++to) messages.send(team.rank_at(to), values);
            messages.wait(1);
          },
          [](const Network& net, const JobShape& job, i64 bytes, i64, int) {
            if (job.ranks == 1) return 0.0;
            const Link link = lone_link_at(net, job, job.ranks - 1);
            const auto n = static_cast<double>(bytes);
            return link.seconds(n) + (job.ranks - 2) * (link.gap + n / link.bandwidth);
          }};
}

}  // namespace cortado
