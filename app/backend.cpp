#include "app/backend.h"

#include <cstdlib>

#include "backends/reference/processor.h"
#include "programs/reference_all_programs.h"
#ifdef CORTADO_WITH_KOKKOS
#include "backends/kokkos/processor.h"
#include "programs/kokkos_all_programs.h"
#endif
#ifdef CORTADO_WITH_SUNWAY
#include "backends/sunway/sim/processor.h"
#include "programs/sunway_all_programs.h"
#endif

namespace cortado {

std::unique_ptr<Processor> make_processor(int core_groups, [[maybe_unused]] int cpus) {
#ifdef CORTADO_WITH_KOKKOS
  kokkos::Options options;
  options.core_groups = core_groups;
  if (std::getenv("OMP_NUM_THREADS") == nullptr) options.threads = cpus;
  return kokkos::make_processor(options, kokkos::all_programs());
#elif defined(CORTADO_WITH_SUNWAY)
  sunway::sim::Options options;
  options.core_groups = core_groups;
  options.timing_only = std::getenv("CORTADO_TIMING_ONLY") != nullptr;
  if (const char* timeline = std::getenv("CORTADO_TIMELINE")) options.timeline = timeline;
  return sunway::sim::make_processor(options, sunway::all_programs());
#else
  reference::Options options;
  options.core_groups = core_groups;
  return reference::make_processor(options, reference::all_programs());
#endif
}

}  // namespace cortado
