#pragma once
#include "backends/kokkos/context.h"
#include "backends/kokkos/programs.h"
#include "backends/kokkos/space.h"
#if defined(CORTADO_KOKKOS_CUDA)
#include "backends/kokkos/cuda_team.h"
#else
#include "backends/kokkos/host_team.h"
#endif

namespace cortado::kokkos {

/// One launch: the queue it goes to and what its workers get.
struct Launch {
  Space space;
  Grant grant;
};

#if defined(CORTADO_KOKKOS_CUDA)
template <class Program>
struct Kernel {
  Program program;
  Grant grant;
  KOKKOS_FUNCTION void operator()(const CudaMember& member) const {
    Context<CudaTeam> context(CudaTeam(grant, member));
    program(context);
  }
};

template <class Program>
void run(Launch& launch, const void* program) {
  const Grant& grant = launch.grant;
  auto policy = CudaPolicy(launch.space, static_cast<int>(grant.workers), CudaTeam::lanes)
                    .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(grant.scratch_bytes + CudaTeam::alignment)));
  Kokkos::parallel_for(grant.label, policy, Kernel<Program>{*static_cast<const Program*>(program), grant});
}
#else
template <class Program>
struct Kernel {
  Program program;
  Grant grant;
  void operator()(i64 worker) const {
    const Program own = program;  // on this thread's stack, where no store of the program can reach it
    Context<HostTeam> context(HostTeam(grant, worker));
    own(context);
    end_streams();
  }
};

template <class Program>
void run(Launch& launch, const void* program) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<i64>>;
  Kokkos::parallel_for(launch.grant.label, Policy(launch.space, 0, launch.grant.workers, Kokkos::ChunkSize(1)),
                       Kernel<Program>{*static_cast<const Program*>(program), launch.grant});
}
#endif

template <class Program>
void add_program(Programs& table) {
  table.add(program_key<Program>(), &run<Program>);
}

}  // namespace cortado::kokkos
