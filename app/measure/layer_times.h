#pragma once
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/net.h"

namespace cortado {

/// A solver around a net, so that whole training iterations with their update can be timed; its rate is 0.
caffe::SolverParameter solver_around(const caffe::NetParameter& net, Precision precision = Precision::fp32);

/// Milliseconds of each layer, added up over iterations.
struct LayerTimes {
  std::vector<double> forward, backward;
  double forward_sum = 0, backward_sum = 0;
};

/// Runs every layer of the net `iterations` times, each timed on its own; logs Caffe's line for each iteration.
LayerTimes time_layers(Net& net, CoreGroup& group, i64 iterations, bool with_backward);

/// Images in the net's first batch, 0 if it has none.
i64 batch_of(const Net& net);

}  // namespace cortado
