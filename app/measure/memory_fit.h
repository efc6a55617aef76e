#pragma once
#include "app/session/session.h"
#include "core/tuner/tuning_table.h"

namespace cortado {

/// Chooses which values of a training's net are made again for backward, so that a process needs no more than `limit`
/// bytes. It goes by the need that cortado check tells, keeps 5 % in reserve, and takes as little time as it knows how
/// to. Afterwards session.recomputed has the choice, and the log says what it is. Limit 0 chooses nothing. A process
/// has parameters `core_groups` times. Collective. Throws MemoryError where not even all that can be made again
/// suffices.
void fit_memory(Session& session, const caffe::SolverParameter& parameter, const TuningTable& tuning, i64 limit,
                int core_groups = 1);

}  // namespace cortado
