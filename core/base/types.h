#pragma once
#include <cstdint>

/// Marks a function that cluster programs call: host code everywhere, and device code too where the
/// backend compiles its program units with a CUDA compiler.
#if defined(__CUDACC__)
#define CORTADO_FN __host__ __device__
#else
#define CORTADO_FN
#endif

namespace cortado {
using i64 = std::int64_t;
}  // namespace cortado
