#pragma once
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/formats/weight_files.h"
#include "core/net/net.h"

namespace cortado {

/// Writes plans to, and reads them from, a .solverstate's message.
void store_plans(const PlanBook& plans, caffe::CortadoState& state);
PlanBook plans_of(const caffe::CortadoState& state);

/// Removes the values of shared blobs from all layers but their owner, as Caffe's HDF5 files do.
void keep_owners(const Net& net, caffe::NetParameter& weights);

/// The digest of the values of the net's learnable blobs in `weights`, undivided. Every form of file has the same
/// digest. Throws FileError naming `file` when a blob is missing: a file cut off between two layers still parses.
std::string weights_digest(const Net& net, const caffe::NetParameter& weights, const std::string& file);

/// The paths where a state's weights may lie, likeliest first. They are the state's own name beside it, the named file
/// beside it, and the named file at its recorded path. A pair that has moved stays together.
std::vector<std::string> places_of_weights(const caffe::SolverState& state, const std::string& state_file);

/// The file beside a state that holds the average of weights: X.ema.caffemodel[.h5] for X.solverstate[.h5].
std::string average_file(const std::string& state_file);

/// A state and its weights.
struct SnapshotPair {
  caffe::SolverState state;
  caffe::NetParameter weights;
  std::string weights_file;
  caffe::NetParameter average;  ///< of weights; empty where the state has none
};
/// Reads a .solverstate[.h5] and the first of places_of_weights that has the state's digest. States of Caffe's own have
/// no digest; for them it takes the first file that exists. With `with_average` it reads the state's average of weights
/// too. Throws FileError for missing and damaged files.
SnapshotPair read_pair(const std::string& state_file, const Net& net, const Hdf5Files* hdf5, bool with_average);

}  // namespace cortado
