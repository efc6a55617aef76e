#pragma once

/// What the compiler may use of x86-64 in all code but before_libraries.cpp. These are constants in memory: reading them
/// runs no code that was compiled so.
namespace cortado {

extern const int compiled_for_avx2, compiled_for_avx512, compiled_for_avx512_bf16;

}  // namespace cortado
