#pragma once
#include <string>

#include "core/formats/caffe.pb.h"
#include "core/net/net.h"

namespace cortado {

/// Plans as a .solverstate keeps them.
void store_plans(const PlanBook& plans, caffe::CortadoState& state);
PlanBook plans_of(const caffe::CortadoState& state);

/// Leaves the values of a blob that several layers share with its owner alone, as Caffe's HDF5 files do.
void keep_owners(const Net& net, caffe::NetParameter& weights);

/// The .caffemodel that belongs to a .solverstate: the file it names, or, when the pair has moved, the file of that
/// name beside it, or the one that is called as the state is. Throws FileError when there is none.
std::string weights_of(const caffe::SolverState& state, const std::string& state_file);

/// Throws FileError naming `file` when the weights lack a layer of the net that learns: a file that was cut off between
/// two layers still parses.
void check_complete(const caffe::NetParameter& weights, const Net& net, const std::string& file);

}  // namespace cortado
