#pragma once
#include "core/machine/plan.h"

namespace cortado::sunway {

/// A launch as its CPEs see it; lies in memory.
struct Launch {
  const void* program = nullptr;
  /// The first call of `fail`: [0] whether, [1] code, [2] index; one triple per CPE.
  i64* failures = nullptr;
};

/// Buffers that a plan may book, and slots of each; bytes of a program.
constexpr int max_buffers = 16, max_slots = 4, most_program_bytes = 4096;

/// Throws PlanError for what a launch on CPEs of so much scratchpad cannot grant; `label` is the program's.
void check_plan(const char* label, const Plan& plan, i64 scratch_bytes);

}  // namespace cortado::sunway
