#pragma once
#include "core/machine/program.h"

/// For the generated program units alone, which instantiate it for each program that is listed.
namespace cortado {

template <class Program>
ProgramKey program_key() {
  static constexpr char mark = 0;
  return &mark;
}

}  // namespace cortado
