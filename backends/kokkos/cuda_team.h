#pragma once
#include "backends/kokkos/lane_team.h"

namespace cortado::kokkos {

/// Light: kernels get their programs by parameters. Kokkos keeps one buffer of constant memory for all larger ones of a
/// device, and waits until the kernel before has done with it.
using CudaPolicy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<256>, Kokkos::IndexType<i64>,
                                      Kokkos::Experimental::WorkItemProperty::HintLightWeight_t>;
using CudaMember = CudaPolicy::member_type;

/// The first failure of a core group's programs (Grant::failure), in device memory.
struct CudaFailure {
  Failure failure;
  const char** begun = nullptr;  ///< host memory where each program that begins leaves its label; may be null
};

/// A worker of CUDA.
class CudaTeam : public LaneTeam<CudaMember, 256> {
 public:
  CORTADO_FN CudaTeam(const Grant& grant, const CudaMember& member) : LaneTeam(grant, member) {
    if (member.league_rank() != 0 || member.team_rank() != 0) return;
    const char** const begun = reinterpret_cast<const CudaFailure*>(grant.failure)->begun;
    if (begun != nullptr) *const_cast<const char* volatile*>(begun) = grant.label;
  }
};

}  // namespace cortado::kokkos
