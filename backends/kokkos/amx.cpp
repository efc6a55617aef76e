#include "backends/kokkos/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#endif

namespace cortado::kokkos {

#if defined(__x86_64__) && defined(__linux__)
namespace {

bool processor_has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24;  // of leaf 7
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & amx_bf16) != 0 && (d & amx_tile) != 0;
}

/// Tile registers are large: Linux saves those of processes alone that ask (Documentation/arch/x86/xstate.rst).
bool system_saves_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

}  // namespace

bool Amx::available() {
  static const bool is = processor_has_tiles() && system_saves_tiles();
  return is;
}

void Amx::configure(const TileRegisters& registers) {
  thread_local TileRegisters current{0};
  if (std::memcmp(&current, &registers, sizeof current) == 0) return;
  asm volatile("ldtilecfg %0" : : "m"(registers));
  current = registers;
}
#else
bool Amx::available() { return false; }
#if defined(__x86_64__)
void Amx::configure(const TileRegisters&) {}
#endif
#endif

}  // namespace cortado::kokkos
