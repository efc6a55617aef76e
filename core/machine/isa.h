#pragma once
#include <optional>
#include <string>

namespace cortado {

/// An instruction set of x86-64, each with more than the one before: AVX2 with FMA, AVX-512, its products of bf16, the
/// matrix unit (AMX).
enum class Isa { avx2, avx512, avx512_bf16, amx };

/// The name in CORTADO_ISA and in reports: "avx512_bf16".
const char* name_of(Isa isa);
/// Nothing for other names.
std::optional<Isa> isa_named(const std::string& name);
/// The most that this processor and its system have; nothing where they lack AVX2, and on other architectures.
std::optional<Isa> isa_of_processor();

}  // namespace cortado
