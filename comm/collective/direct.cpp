// Broadcast, direct: the root sends to everybody (Awan et al. 2018, equation 1).
#include "comm/collective/messages.h"

namespace cortado {

Algorithm direct_broadcast() {
  return {"direct", "the root sends to all",
          [](const Team& team, const HostValues& values) {
            Messages messages(team, "direct");
            if (team.rank() != 0) messages.receive(0, values);
            for (int to = 1; team.rank() == 0 && to < team.size(); ++to) messages.send(to, values);
            messages.wait(1);
          },
          [](const Network& net, const JobShape& job, i64 bytes, i64, int) {
            return (job.ranks - 1) * (net.latency + static_cast<double>(bytes) * net.byte_inside);
          }};
}

}  // namespace cortado
