#pragma once
#include <cstdint>

/// Marks a function that cluster programs call: host code everywhere, and device code too where the
/// backend compiles its program units with a CUDA compiler.
#if defined(__CUDACC__)
#define CORTADO_FN __host__ __device__
#else
#define CORTADO_FN
#endif

/// Before a loop of up to `unrolled_turns`: unrolls it, so that small arrays become registers. CUDA's compiler does
/// that by itself.
#if defined(__CUDACC__)
#define CORTADO_UNROLL
#else
#define CORTADO_UNROLL _Pragma("GCC unroll 64")
#endif

/// Keeps a function out of its callers: what they seldom call would take registers from what they do all the time.
#define CORTADO_APART __attribute__((noinline))

namespace cortado {
using i64 = std::int64_t;
constexpr int unrolled_turns = 64;  ///< at most, by CORTADO_UNROLL; a longer loop stays one, and its arrays in memory
}  // namespace cortado
