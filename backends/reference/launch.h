#pragma once
#include "backends/reference/context.h"
#include "backends/reference/programs.h"

namespace cortado::reference {

/// Runs one program on the CPE that `launch` names: all its lanes, to their ends.
template <class Program>
void run_on_cpe(Launch& launch, const Program& program) {
  Cpe cpe(launch);
  launch.lanes.run([&](int) {
    Context context(cpe);
    program(context);
    cpe.end();
  });
}

/// Compiles `Program` for this backend; called by the generated program units.
template <class Program>
void add_program(Programs& table) {
  table.add(program_key<Program>(),
            {[](Launch& launch, const void* program) { run_on_cpe(launch, *static_cast<const Program*>(program)); },
             sizeof(Program)});
}

}  // namespace cortado::reference
