#pragma once
#include <memory>
#include <string>

#include "backends/reference/processor.h"
#include "programs/reference_gate_programs.h"
#include "tests/support/backends.h"
#if defined(CORTADO_WITH_KOKKOS)
#include "backends/kokkos/processor.h"
#include "programs/kokkos_gate_programs.h"
#elif defined(CORTADO_WITH_SUNWAY)
#include "backends/sunway/sim/processor.h"
#include "programs/sunway_gate_programs.h"
#endif

namespace cortado::test {

/// A processor of that backend that runs tests/machine/programs.h.
inline std::unique_ptr<Processor> gate_processor(const std::string& backend) {
  reference::Options options = backend == "late" ? late_options() : reference::Options();
  options.lanes = backend == "lanes" ? 5 : 1;
  if (backend == "reference" || backend == "lanes" || backend == "late")
    return reference::make_processor(options, reference::gate_programs());
#if defined(CORTADO_WITH_KOKKOS)
  return kokkos::make_processor({}, kokkos::gate_programs());
#elif defined(CORTADO_WITH_SUNWAY)
  sunway::sim::Options simulated;
  simulated.machine = backend;
  return sunway::sim::make_processor(simulated, sunway::gate_programs());
#else
  return nullptr;
#endif
}

}  // namespace cortado::test
