#pragma once
#include <map>
#include <string>

#include "app/doctor/facts.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "core/tuner/tuning_table.h"

namespace cortado::doctor {

/// This process and its node, without the backend and the solver.
RankFacts look_around(const MpiJob& job);

/// Adds what the backend of this process shows.
void look_at_machine(const Session& session, RankFacts& facts);

/// The solver and its nets as this rank sees them. It opens their data sets, and reads samples to compare them. Throws
/// nothing: errors are facts.
SolverFacts look_at_solver(const NetState& state, const std::string& file);

/// The net on rank 0: its plans and its memory, by a dry run. Throws nothing but what is no Error.
NetFacts look_at_net(Session& session, const NetState& state, const std::string& file, const TuningTable& tuning);

/// MPICH's device in its library's long name; empty where there is none.
std::string device_in(const std::string& library);
/// The CPUs that a control group grants, from its file cpu.max, "150000 100000"; 0 means no limit.
double quota_in(const std::string& cpu_max);

}  // namespace cortado::doctor
