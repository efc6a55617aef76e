#include "app/measure/memory_fit.h"

#include <cmath>

#include "app/measure/memory_need.h"
#include "core/base/log.h"
#include "core/base/memory_error.h"
#include "core/formats/caffe.pb.h"
#include "core/net/recomputation_choice.h"

namespace cortado {
namespace {
std::string mb(i64 bytes) { return megabytes_text(static_cast<double>(bytes)); }

void tell(const Net& net, const RecomputationChoice& choice, i64 without, i64 with, i64 limit) {
  CORTADO_LOG(info) << "Memory of a process: " << mb(without) << " is above the limit of " << mb(limit)
                    << "; with recomputation " << mb(with) << ", by a second run of "
                    << static_cast<int>(std::lround(100 * choice.share)) << " % of forward's work";
  for (const Segment& segment : choice.segments)
    CORTADO_LOG(info) << "Recomputes inside " << net.layers()[segment.first].layer->name() << " to "
                      << net.layers()[segment.end - 1].layer->name();
}
}  // namespace

void fit_memory(Session& session, const caffe::SolverParameter& parameter, const TuningTable& tuning, i64 limit,
                int core_groups) {
  if (limit <= 0) return;
  const i64 usable = limit - limit / 20;  // what libraries allocate while nets run is not in the need
  const DryRun plain(session, parameter, tuning);
  // Ranks agree on what the program takes, so that all choose the same, or find the same mistake.
  const i64 program = std::stoll(session.job.replicas().from_root(std::to_string(plain.need().program)));
  const auto total = [&](const DryRun& run) {
    const MemoryNeed& need = run.need();
    return need.total() - need.program + program +
           (core_groups - 1) * (need.parameters + need.gradients + need.history);
  };
  const i64 without = total(plain);
  if (without <= usable) {
    CORTADO_LOG(info) << "Memory of a process: " << mb(without) << " is within the limit of " << mb(limit)
                      << "; nothing is recomputed";
    return;
  }
  i64 least = without, missing = without - usable;  // bytes; missing: to be saved, as far as is known
  const auto choices = recomputation_choices(plain.net());
  for (const RecomputationChoice& choice : choices) {
    if (choice.saved < missing && &choice != &choices.back()) continue;
    session.recomputed = choice.segments;
    const i64 with = total(DryRun(session, parameter, tuning));
    if (with <= usable) return tell(plain.net(), choice, without, with, limit);
    least = std::min(least, with);
    missing = choice.saved + (with - usable);
  }
  session.recomputed.clear();
  throw MemoryError("--memory",
                    "a process needs " + mb(least) + " where all that can be is recomputed, " + mb(without) +
                        " without; of the limit of " + mb(limit) + ", 5 % stays in reserve",
                    "give a smaller batch_size, with iter_size, or precision: BF16");
}

}  // namespace cortado
