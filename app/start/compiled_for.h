#pragma once

/// The instruction sets that the compiler may use in all code but before_libraries.cpp. These are constants in memory:
/// reading them runs no code that was compiled so.
namespace cortado {

extern const int compiled_for_avx2, compiled_for_avx512, compiled_for_avx512_bf16;

}  // namespace cortado
