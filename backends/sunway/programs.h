#pragma once
#include <cstddef>

#include "core/machine/program_table.h"

namespace cortado::sunway {

/// One program: what a CPE runs (the argument is a Launch), and the size of its data.
struct Entry {
  void (*run)(void* launch) = nullptr;
  std::size_t program_bytes = 0;
};
using Programs = ProgramTable<Entry>;

}  // namespace cortado::sunway
