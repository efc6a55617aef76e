#include "app/backend.h"

#include "backends/reference/processor.h"
#include "programs/reference_all_programs.h"
#ifdef CORTADO_WITH_KOKKOS
#include "backends/kokkos/processor.h"
#include "programs/kokkos_all_programs.h"
#endif

namespace cortado {

std::unique_ptr<Processor> make_processor(int core_groups) {
#ifdef CORTADO_WITH_KOKKOS
  kokkos::Options options;
  options.core_groups = core_groups;
  return kokkos::make_processor(options, kokkos::all_programs());
#else
  reference::Options options;
  options.core_groups = core_groups;
  return reference::make_processor(options, reference::all_programs());
#endif
}

}  // namespace cortado
