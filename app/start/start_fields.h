#pragma once
#include <string>

#include "app/command_line/command_line.h"
#include "app/start/start_files.h"

namespace caffe {
class NetParameter;
class SolverParameter;
}  // namespace caffe

namespace cortado {

/// The fields that make two runs different: the build, the verb, its flags, and the fields that flags add. It reads
/// files, and throws as reading nets and solvers does.
StartFields start_fields(const Command& command);

/// Compares the ranks' start fields before nets are built. Throws ConfigError on all ranks. Collective.
void agree_on_start(const MpiJob& job, const Command& command);

/// Adds a net, whose layers are filtered by its state, and the data sets of its layers. Paths may differ from rank to
/// rank, as on nodes with disks of their own: contents are compared. `which` stands before every name.
void add_net(const caffe::NetParameter& unfiltered, const std::string& which, StartFields& fields);
/// Adds a solver, its nets, and its weights.
void add_solver(const caffe::SolverParameter& solver, StartFields& fields);

}  // namespace cortado
