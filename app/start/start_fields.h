#pragma once
#include <string>

#include "app/command_line/command_line.h"
#include "app/start/start_files.h"

namespace caffe {
class NetParameter;
class SolverParameter;
}  // namespace caffe

namespace cortado {

/// What makes two runs different: the build, the verb, its flags, and what its flags add. Reads files;
/// throws what reading nets and solvers throws.
StartFields start_fields(const Command& command);

/// Compares all that is known before nets are built. Collective; throws ConfigError on all ranks.
void agree_on_start(const MpiJob& job, const Command& command);

/// Adds a net, whose layers are filtered by its state, and the data sets that its layers read. Paths may differ from
/// rank to rank, as on nodes with disks of their own: what lies there is compared. `which` stands before every name.
void add_net(const caffe::NetParameter& unfiltered, const std::string& which, StartFields& fields);
/// Adds a solver, its nets, and the weights that it names.
void add_solver(const caffe::SolverParameter& solver, StartFields& fields);

}  // namespace cortado
