#pragma once
#include <string>

#include "core/machine/core_group.h"

namespace cortado {

/// A program with its sizes and buffers, and the plan to launch it with. Whoever launches it fills in the pointers.
template <class Program>
struct Planned {
  Program program{};
  Plan plan;
};

/// Plans a program whose buffers were booked in `book`; `work_items` as in Plan. Where they do not fit, `refused` gets
/// the reason, unless another stands there, and the plan must not be launched.
template <class Program>
Planned<Program> planned(const Program& program, const PlanBuilder& book, i64 work_items, std::string& refused) {
  if (book.fits()) return {program, book.plan(work_items)};
  if (refused.empty()) refused = book.reason();
  return {program, {}};
}

/// The same of a program whose buffers `book(program, builder)` books.
template <class Program>
Planned<Program> planned(const MachineSpec& spec, Program program, i64 work_items, std::string& refused) {
  PlanBuilder builder(spec);
  book(program, builder);
  return planned(program, builder, work_items, refused);
}
/// True if its buffers fit a scratchpad.
template <class Program>
bool fits(const MachineSpec& spec, Program program) {
  PlanBuilder builder(spec);
  book(program, builder);
  return builder.fits();
}

/// Launches the program with what `fill` sets in a copy of it.
template <class Program, class Fill>
void launch(CoreGroup& group, const Planned<Program>& planned, const Fill& fill) {
  Program program = planned.program;
  fill(program);
  group.launch(program, planned.plan);
}

}  // namespace cortado
