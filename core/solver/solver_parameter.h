#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"

namespace cortado {

/// Throws ConfigError for a solver that cannot mean anything, or that asks for what Cortado does not have.
void check_solver(const caffe::SolverParameter& parameter);

/// Of everything drawn at random: random_seed, or 1 where it is not given.
std::uint64_t seed_of(const caffe::SolverParameter& parameter);

/// A net that a solver names, with the state (phase, level, stages) it is to be built in, and where it came from as
/// Caffe's log says it ("net file: lenet.prototxt").
struct NamedNet {
  std::string source;
  caffe::NetParameter net;
};

/// The net to train: the one of `net`, `net_param`, `train_net` and `train_net_param` that is given. Its state is phase
/// TRAIN, then what the net's own state sets, then train_state. Throws ConfigError, FileError.
/// `layers`, which may be null, lets errors of the file name unknown layers too.
NamedNet training_net(const caffe::SolverParameter& parameter, const LayerTable* layers = nullptr);

/// The nets to test, one per test_iter: those of test_net_param, then of test_net, then the generic net (`net` or
/// `net_param`) as often as test_iters are left; test_state goes over the net's own state. Throws ConfigError,
/// FileError.
std::vector<NamedNet> test_nets(const caffe::SolverParameter& parameter);

}  // namespace cortado
