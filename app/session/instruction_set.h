#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/machine/isa.h"

/// Which of its instruction sets a program uses. The OpenMP backend on x86-64 has one that is linked, CORTADO_ARCH's,
/// and modules for CORTADO_ISAS (cmake/isas.cmake).
namespace cortado {

/// The sets that this build has programs for, in rising order, the linked one first; nothing where there is no choice.
const std::vector<Isa>& isas_of_build();
/// The module of an instruction set; empty: it is linked.
std::string module_of(Isa isa);

/// The most of `built` that the processor has, or what `forced` names; null forces nothing. Throws ConfigError for what
/// it names if that is unknown, not built, or more than the processor has; and if the processor has none of `built`.
Isa choose_isa(const std::vector<Isa>& built, std::optional<Isa> processor, const char* forced);
/// The same for this process, by CORTADO_ISA. Where there is no choice it is nothing, and CORTADO_ISA gives a warning.
std::optional<Isa> choose_isa();
/// "avx2, the most of this build that every rank's processor has".
std::string describe_choice(Isa chosen);

}  // namespace cortado
