#include "app/modules/module.h"
#include "app/modules/modules.h"

namespace cortado {
namespace {

template <class Programs>
Programs load(const char* name, const char* what) {
  Programs programs;
  Module(name, what).entry<void(Programs&)>("cortado_programs")(programs);
  return programs;
}

}  // namespace

reference::Programs reference_programs() { return load<reference::Programs>("reference", "the reference backend"); }

#ifdef CORTADO_WITH_KOKKOS
const char* loadable_isas() { return CORTADO_ISAS; }

kokkos::Programs kokkos_bf16_programs() {
#ifdef CORTADO_WITH_CUDA
  return {};
#else
  return load<kokkos::Programs>("bf16", "mixed precision");
#endif
}
#endif

}  // namespace cortado
