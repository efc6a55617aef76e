#pragma once
#include "backends/kokkos/lane_team.h"

namespace cortado::kokkos {

using CudaPolicy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<256>, Kokkos::IndexType<i64>>;
using CudaMember = CudaPolicy::member_type;

/// A worker of CUDA.
using CudaTeam = LaneTeam<CudaMember, 256>;

}  // namespace cortado::kokkos
