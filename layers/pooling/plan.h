#pragma once
#include <functional>

#include "core/machine/planned.h"
#include "layers/pooling/programs.h"

namespace cortado {

/// Plan the pooling programs. They choose the cut of swCaffe IV-D: whole planes per line, else bands of whole rows,
/// else blocks of columns, as the scratchpad allows. They throw PlanError where not even one window fits.
Planned<MaxPoolForward> plan_max_forward(const MachineSpec& spec, const PoolShape& shape);
Planned<MaxPoolBackward> plan_max_backward(const MachineSpec& spec, const PoolShape& shape);
template <bool train>
Planned<StochasticPoolForward<train>> plan_stochastic_forward(const MachineSpec& spec, const PoolShape& shape);
Planned<AveragePoolForward> plan_average_forward(const MachineSpec& spec, const PoolShape& shape);
Planned<AveragePoolBackward> plan_average_backward(const MachineSpec& spec, const PoolShape& shape);
/// Plan the programs whose lanes visit whole windows, cut as the others.
template <bool largest, class T>
Planned<PoolWindowsForward<largest, T>> plan_windows_forward(const MachineSpec& spec, const PoolShape& shape);
template <bool largest, class T>
Planned<PoolWindowsBackward<largest, T>> plan_windows_backward(const MachineSpec& spec, const PoolShape& shape);
/// Plan averages where one window holds each plane, of any size.
template <class T>
Planned<PlaneAverageForward<T>> plan_plane_average_forward(const MachineSpec& spec, const PoolShape& shape);
template <class T>
Planned<PlaneAverageBackward<T>> plan_plane_average_backward(const MachineSpec& spec, const PoolShape& shape);

/// Plan the programs whose lanes are planes, cut in bands that a cache holds. They throw PlanError as the others do.
template <bool largest, class T>
Planned<PoolPlanesForward<largest, T>> plan_planes_forward(const MachineSpec& spec, const PoolShape& shape);
template <bool largest, class T>
Planned<PoolPlanesBackward<largest, T>> plan_planes_backward(const MachineSpec& spec, const PoolShape& shape);

/// Chooses a cut of `planes` planes of height x width. `book` books the scratchpad memory for one line of a cut; it is
/// called for several cuts.
PlaneCut choose_cut(const MachineSpec& spec, i64 planes, int height, int width,
                    const std::function<void(PlanBuilder&, const PlaneCut&)>& book);

}  // namespace cortado
