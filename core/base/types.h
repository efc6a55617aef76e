#pragma once
#include <cstdint>

/// Marks a function that cluster programs call. It is host code everywhere, and device code too where the backend
/// compiles its program units with a CUDA compiler.
#if defined(__CUDACC__)
#define CORTADO_FN __host__ __device__
#else
#define CORTADO_FN
#endif

/// Stands before a loop of up to `unrolled_turns` turns and unrolls it, so that small arrays become registers. CUDA's
/// compiler does that by itself.
#if defined(__CUDACC__)
#define CORTADO_UNROLL
#else
#define CORTADO_UNROLL _Pragma("GCC unroll 64")
#endif

/// Keeps a rarely called function out of its callers, which then have its registers for their own values.
#define CORTADO_APART __attribute__((noinline))

namespace cortado {
using i64 = std::int64_t;
/// The most turns that CORTADO_UNROLL unrolls. A longer loop stays one, and its arrays lie in memory.
constexpr int unrolled_turns = 64;
}  // namespace cortado
