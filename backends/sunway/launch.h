#pragma once
#include "backends/sunway/context.h"
#include "backends/sunway/programs.h"

namespace cortado::sunway {

/// The function of every CPE. It brings the launch and the program into its scratchpad, runs the program, and waits
/// until everything that was put has arrived.
template <class Program>
void run_on_cpe(void* argument) {
  alignas(128) Launch launch;
  alignas(128) char own[sizeof(Program)];
  Pending pending;
  port_name("launch", -1);
  get_rows(reinterpret_cast<int*>(&launch), static_cast<const int*>(argument), 1, sizeof launch / 4, sizeof launch / 4,
           pending);
  pending.wait();
  static_assert(sizeof(Program) % 4 == 0, "programs are whole words");
  get_rows(reinterpret_cast<int*>(own), static_cast<const int*>(launch.program), 1, sizeof(Program) / 4,
           sizeof(Program) / 4, pending);
  pending.wait();
  Context context(launch);
  (*reinterpret_cast<const Program*>(own))(context);
  context.finish();
}

template <class Program>
void add_program(Programs& table) {
  table.add(program_key<Program>(), Entry{&run_on_cpe<Program>, sizeof(Program)});
}

}  // namespace cortado::sunway
