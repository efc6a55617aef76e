#pragma once
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/formats/weight_files.h"
#include "core/net/net.h"

namespace cortado {

/// Plans as a .solverstate keeps them.
void store_plans(const PlanBook& plans, caffe::CortadoState& state);
PlanBook plans_of(const caffe::CortadoState& state);

/// Leaves the values of a blob that several layers share with its owner alone, as Caffe's HDF5 files do.
void keep_owners(const Net& net, caffe::NetParameter& weights);

/// Of the values of the net's learnable blobs as `weights` holds them, whole; the same for every form of file. Throws
/// FileError naming `file` when one is missing: a file that was cut off between two layers still parses.
std::string weights_digest(const Net& net, const caffe::NetParameter& weights, const std::string& file);

/// Where a state's weights may lie, likeliest first: those that are called as the state is, beside it; the file that it
/// names, beside it; that file where the state says that it lies. So a pair that has moved stays together.
std::vector<std::string> places_of_weights(const caffe::SolverState& state, const std::string& state_file);

/// A state and the weights that belong to it.
struct SnapshotPair {
  caffe::SolverState state;
  caffe::NetParameter weights;
  std::string weights_file;
};
/// Reads a .solverstate[.h5] and its weights: the first at places_of_weights that have the digest in the state. States
/// of Caffe's own have none; then the first that are there. Throws FileError where there are none, and for damage.
SnapshotPair read_pair(const std::string& state_file, const Net& net, const Hdf5Files* hdf5);

}  // namespace cortado
