#pragma once
#include "core/machine/program_table.h"

namespace cortado::sunway {

/// What a CPE runs for a launch of one program; the argument is a Launch.
using Entry = void (*)(void* launch);
using Programs = ProgramTable<Entry>;

}  // namespace cortado::sunway
