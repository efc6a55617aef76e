#include "backends/kokkos/amx.h"

#include <cstring>

#include "core/machine/isa.h"

namespace cortado::kokkos {

namespace {
bool is_forbidden = false;
}

void Amx::forbid() { is_forbidden = true; }

bool Amx::available() {
  static const bool is = isa_of_processor() == Isa::amx;
  return is && !is_forbidden;
}

#if defined(__x86_64__)
void Amx::configure(const TileRegisters& registers) {
  thread_local TileRegisters current{0};
  if (std::memcmp(&current, &registers, sizeof current) == 0) return;
  asm volatile("ldtilecfg %0" : : "m"(registers));
  current = registers;
}
#endif

}  // namespace cortado::kokkos
