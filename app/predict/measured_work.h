#pragma once
#include "app/session/session.h"
#include "comm/predict/speedup.h"
#include "core/solver/solver.h"

namespace cortado {

/// The layers of a net with their sizes, without times.
Work work_of(const Net& net);

/// Measures layers, and iterations with update, on this core group alone: `iterations` of each, after one that warms
/// up. If a layer with parameters computes both in backward, half of the time counts as errors, half as gradients.
/// Layers are slower one by one than together, so their times are scaled to fit into the iteration.
void measure_work(Solver& solver, CoreGroup& group, i64 iterations, Work& work);

/// Measures a codec's seconds per value, over many values; no codec for fp32.
Coding measured_coding(CoreGroup& group, const Codec& codec);

}  // namespace cortado
