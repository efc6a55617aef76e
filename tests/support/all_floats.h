#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace cortado::test {

/// Floats with each upper half there is. Their lower halves are 0, the last and the middle one, and the middle one's
/// neighbours: normal numbers, those too small to be normal, zeros, infinities, NaN of both signs and kinds.
inline std::vector<float> floats_of_all_kinds() {
  std::vector<float> all;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const std::uint32_t lower : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu, 0x4000u, 0xC000u}) {
      const std::uint32_t word = upper << 16 | lower;
      all.emplace_back();
      std::memcpy(&all.back(), &word, sizeof word);
    }
  return all;
}

}  // namespace cortado::test
