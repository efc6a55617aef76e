#include "app/modules/modules.h"
#include "programs/reference_all_programs.h"
#if defined(CORTADO_WITH_KOKKOS) && !defined(CORTADO_WITH_CUDA)
#include "programs/kokkos_bf16_programs.h"
#endif

namespace cortado {

reference::Programs reference_programs() { return reference::all_programs(); }

#ifdef CORTADO_WITH_KOKKOS
const char* loadable_isas() {
#ifdef CORTADO_ISAS
  return CORTADO_ISAS;
#else
  return "";
#endif
}

kokkos::Programs kokkos_bf16_programs() {
#ifdef CORTADO_WITH_CUDA
  return {};
#else
  return kokkos::bf16_programs();
#endif
}
#endif

}  // namespace cortado
