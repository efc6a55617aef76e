#pragma once
#include <cstdint>

#include "core/base/types.h"

namespace cortado::kokkos {

/// The shapes of a matrix unit's eight tile registers, as AMX reads them from memory. A register of zero rows must not
/// be used.
struct alignas(64) TileRegisters {
  std::uint8_t palette = 1, start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};  ///< at most 64
  std::uint8_t rows[16] = {};        ///< at most 16

  void set(int tile, i64 row_count, i64 bytes) {
    rows[tile] = static_cast<std::uint8_t>(row_count);
    row_bytes[tile] = static_cast<std::uint16_t>(bytes);
  }
};

/// The matrix unit of x86 processors (AMX-TILE, AMX-BF16), of the calling thread. Nothing else in this process may use
/// it. Pitches are in bytes.
struct Amx {
  /// True if processor and system have it and nobody forbade it.
  static bool available();
  /// For processors made from now on.
  static void forbid();

#if defined(__x86_64__)
  /// Does nothing where the registers have these shapes already; else they become zeros.
  static void configure(const TileRegisters& registers);
  template <int tile>
  static void load(const void* from, i64 pitch) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(pitch), "i"(tile) : "memory");
  }
  template <int tile>
  static void store(void* to, i64 pitch) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(pitch), "i"(tile) : "memory");
  }
  /// sums += a b: of a each row holds pairs of bf16 along the sum, of b each pair of rows lies as a row of pairs.
  template <int sums, int a, int b>
  static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sums), "i"(a), "i"(b));
  }
#endif
};

}  // namespace cortado::kokkos
