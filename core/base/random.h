#pragma once
#include "core/base/types.h"

namespace cortado {

/// A counter-based generator: the value depends on (key, counter) alone. So any rank, thread or lane can draw any
/// element, and a resumed run draws the same values. The mixing function is splitmix64 (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", 2014).
CORTADO_FN inline std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// 64 random bits for element `counter` of stream `key`.
CORTADO_FN inline std::uint64_t random_bits(std::uint64_t key, std::uint64_t counter) {
  return mix64(mix64(key) ^ counter);
}

/// Uniform in [0, 1), 24 bits of resolution.
CORTADO_FN inline float random_uniform(std::uint64_t key, std::uint64_t counter) {
  return static_cast<float>(random_bits(key, counter) >> 40) * (1.0f / 16777216.0f);
}

}  // namespace cortado
