#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"

namespace cortado {

/// Throws ConfigError for a solver that has no meaning, or that needs something that Cortado does not have.
void check_solver(const caffe::SolverParameter& parameter);

/// The seed of all random numbers: random_seed, or 1 where there is none.
std::uint64_t seed_of(const caffe::SolverParameter& parameter);

/// A net that a solver names, with the state (phase, level, stages) for which it is built. `source` is its origin as in
/// Caffe's log ("net file: lenet.prototxt").
struct NamedNet {
  std::string source;
  caffe::NetParameter net;
};

/// The net to train: the one of `net`, `net_param`, `train_net` and `train_net_param` that is given. Its state is phase
/// TRAIN, then the net's own state, then train_state; later ones override. `layers` lets errors of the file name
/// unknown layers too; nullptr means that they do not. Throws ConfigError, FileError.
NamedNet training_net(const caffe::SolverParameter& parameter, const LayerTable* layers = nullptr);

/// The nets to test, one per test_iter: those of test_net_param, then those of test_net. The generic net (`net` or
/// `net_param`) fills up what is left of test_iter. test_state overrides the net's own state. Throws ConfigError,
/// FileError.
std::vector<NamedNet> test_nets(const caffe::SolverParameter& parameter);

}  // namespace cortado
