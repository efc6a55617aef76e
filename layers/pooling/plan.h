#pragma once
#include <functional>

#include "core/machine/planned.h"
#include "layers/pooling/programs.h"

namespace cortado {

/// The planners of the pooling programs. They choose the cut of swCaffe IV-D: whole planes per line, else bands of
/// whole rows, else blocks of columns, as the scratchpad allows. Throw PlanError where not even one window fits.
Planned<MaxPoolForward> plan_max_forward(const MachineSpec& spec, const PoolShape& shape);
Planned<MaxPoolBackward> plan_max_backward(const MachineSpec& spec, const PoolShape& shape);
template <bool train>
Planned<StochasticPoolForward<train>> plan_stochastic_forward(const MachineSpec& spec, const PoolShape& shape);
Planned<AveragePoolForward> plan_average_forward(const MachineSpec& spec, const PoolShape& shape);
Planned<AveragePoolBackward> plan_average_backward(const MachineSpec& spec, const PoolShape& shape);
/// Averages where one window holds each plane, of any size.
template <class T>
Planned<PlaneAverageForward<T>> plan_plane_average_forward(const MachineSpec& spec, const PoolShape& shape);
template <class T>
Planned<PlaneAverageBackward<T>> plan_plane_average_backward(const MachineSpec& spec, const PoolShape& shape);

/// The programs whose lanes are planes; the cut is in bands that a cache holds. Throw PlanError as the others do.
template <bool largest, class T>
Planned<PoolPlanesForward<largest, T>> plan_planes_forward(const MachineSpec& spec, const PoolShape& shape);
template <bool largest, class T>
Planned<PoolPlanesBackward<largest, T>> plan_planes_backward(const MachineSpec& spec, const PoolShape& shape);

/// Chooses a cut of `planes` planes of height x width. `book` books what one line of a cut needs; it is called for
/// several cuts.
PlaneCut choose_cut(const MachineSpec& spec, i64 planes, int height, int width,
                    const std::function<void(PlanBuilder&, const PlaneCut&)>& book);

}  // namespace cortado
