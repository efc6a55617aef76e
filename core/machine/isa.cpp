#include "core/machine/isa.h"

#include <array>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace cortado {
namespace {

constexpr std::array<const char*, 4> names = {"avx2", "avx512", "avx512_bf16", "amx"};

#if defined(__x86_64__) && defined(__linux__)
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

std::optional<Isa> look() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2")) return {};
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512cd") ||
      !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return Isa::avx2;
  if (!__builtin_cpu_supports("avx512bf16")) return Isa::avx512;
  return processor_has_tiles() && system_saves_tiles() ? Isa::amx : Isa::avx512_bf16;
}
#else
std::optional<Isa> look() { return {}; }
#endif

}  // namespace

const char* name_of(Isa isa) { return names.at(static_cast<std::size_t>(isa)); }

std::optional<Isa> isa_named(const std::string& name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name == names[i]) return static_cast<Isa>(i);
  return {};
}

std::optional<Isa> isa_of_processor() {
  static const std::optional<Isa> isa = look();
  return isa;
}

}  // namespace cortado
