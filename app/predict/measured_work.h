#pragma once
#include "app/session/session.h"
#include "comm/predict/speedup.h"
#include "core/solver/solver.h"

namespace cortado {

/// The layers of a net with their sizes, without times.
Work work_of(const Net& net);

/// Times of layers, and of iterations with update, on this core group alone: `iterations` of each, after one that warms
/// up. Backward of a layer with parameters counts as half errors, half gradients, where it computes both. Layers are
/// slower one by one than together; their times are made to fit into the iteration.
void measure_work(Solver& solver, CoreGroup& group, i64 iterations, Work& work);

/// The codec with the seconds that it takes here, a value of many; none for fp32.
Coding measured_coding(CoreGroup& group, const Codec& codec);

}  // namespace cortado
