#pragma once
#include "backends/reference/context.h"
#include "backends/reference/programs.h"

namespace cortado::reference {

/// Compiles `Program` for this backend; called by the generated program units.
template <class Program>
void add_program(Programs& table) {
  table.add(program_key<Program>(), [](Launch& launch, const void* program) {
    Context context(launch);
    (*static_cast<const Program*>(program))(context);
  });
}

}  // namespace cortado::reference
