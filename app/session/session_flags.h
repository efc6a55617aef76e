#pragma once
#include "app/command_line/flags.h"
#include "app/session/exchange.h"
#include "app/session/session_options.h"

namespace cortado {

/// Flags of a session, for verbs that build a net.
struct SessionFlags : SessionOptions {
  i64 memory = 0;  ///< bytes that training must fit into; 0: no limit

  void add_core_groups(Flags& flags);
  void add_devices(Flags& flags);
  void add_profile(Flags& flags);    ///< --profile, --simulate
  void add_simulator(Flags& flags);  ///< --timing-only, --profile, --simulate
  void add_simulate(Flags& flags);
  void add_shape(Flags& flags);  ///< A verb with this flag needs shapes only.
  void add_precision(Flags& flags);
  void add_without(Flags& flags);
  void add_memory(Flags& flags);
};

/// Flags for the places of ranks, and for the fastest collectives there.
void add_topology(Flags& flags, TopologyRules& topology);

}  // namespace cortado
