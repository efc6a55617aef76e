#pragma once
#include "backends/reference/programs.h"
#ifdef CORTADO_WITH_KOKKOS
#include "backends/kokkos/programs.h"
#endif

/// Programs that few runs need and that take long to compile. The executable and libcortado.so load them from modules,
/// lib/cortado/NAME.so (loaded.cpp). Tests have them linked, and so has an executable that cannot load, or whose own
/// backend they are (linked.cpp).
namespace cortado {

/// Throws ConfigError if the module is not there, is none, or was made of other sources or by other flags.
reference::Programs reference_programs();

#ifdef CORTADO_WITH_KOKKOS
/// The instruction sets whose programs can be loaded as modules, separated by commas (cmake/isas.cmake).
const char* loadable_isas();
/// On arrays in bf16; none where this build's backend knows only float. Errors as above.
kokkos::Programs kokkos_bf16_programs();
#endif

}  // namespace cortado
