#pragma once
#include <cstddef>

#include "core/machine/program_table.h"

namespace cortado::reference {

struct Launch;

/// A type-erased program of this backend's cluster.
struct Entry {
  void (*run)(Launch& launch, const void* program) = nullptr;
  std::size_t bytes = 0;  ///< of the program
};
using Programs = ProgramTable<Entry>;

}  // namespace cortado::reference
