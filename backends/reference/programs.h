#pragma once
#include "core/machine/program_table.h"

namespace cortado::reference {

struct Launch;

/// Runs a type-erased program on this backend's cluster.
using Entry = void (*)(Launch& launch, const void* program);
using Programs = ProgramTable<Entry>;

}  // namespace cortado::reference
