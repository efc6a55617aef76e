// The MPI library's own collectives.
#include <algorithm>
#include <limits>

#include "comm/collective/messages.h"
#include "comm/pieces.h"
#include "comm/wait/calls.h"
#include "core/base/bf16.h"

namespace cortado {
namespace {

void sum_bf16(void* from, void* to, int* count, MPI_Datatype*) {
  const auto* const x = static_cast<const bf16*>(from);
  auto* const y = static_cast<bf16*>(to);
  for (int i = 0; i < *count; ++i) y[i] = bf16(static_cast<float>(y[i]) + static_cast<float>(x[i]));
}

MPI_Op bf16_sum() {
  static const MPI_Op operation = [] {
    MPI_Op made = MPI_OP_NULL;
    MPI_Op_create(sum_bf16, 1, &made);
    return made;
  }();
  return operation;
}

/// Nobody publishes what a library does, so it has been measured (Network::library).
auto cost_of(const std::string& collective) {
  return [collective](const Network& net, const JobShape& job, i64 bytes, i64, int) {
    const auto n = static_cast<double>(bytes);
    const auto measured = net.library.find(collective);
    if (measured != net.library.end() && !measured->second.empty()) return on_line(measured->second, n);
    double seconds = 0;
    for (int distance = 1; distance < job.ranks; distance *= 2) seconds += 2 * link_at(net, job, distance).seconds(n);
    return seconds;
  };
}

}  // namespace

Algorithm library_allreduce() {
  return {"library", "MPI_Allreduce",
          [](const Team& team, const HostValues& values) {
            const bool floats = values.element == Precision::fp32;
            in_pieces(values.count, [&](i64 first, int n) {
              all_reduce(team.communicator, "collective 'library'", values.at(first), n,
                         floats ? MPI_FLOAT : MPI_UINT16_T, floats ? MPI_SUM : bf16_sum());
            });
          },
          cost_of("allreduce")};
}

Algorithm library_reduce() {
  return {"library", "MPI_Reduce",
          [](const Team& team, const HostValues& values) {
            const bool floats = values.element == Precision::fp32;
            in_pieces(values.count, [&](i64 first, int n) {
              cortado::reduce(team.communicator, "collective 'library'", values.at(first), n,
                              floats ? MPI_FLOAT : MPI_UINT16_T, floats ? MPI_SUM : bf16_sum(), team.root);
            });
          },
          cost_of("reduce")};
}

Algorithm library_broadcast() {
  return {"library", "MPI_Bcast",
          [](const Team& team, const HostValues& values) {
            in_pieces(values.bytes(), [&](i64 first, int n) {
              broadcast(team.communicator, "collective 'library'", static_cast<char*>(values.data) + first, n, MPI_BYTE,
                        team.root);
            });
          },
          cost_of("broadcast")};
}

}  // namespace cortado
