#pragma once
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/solver/solver.h"
#include "tests/support/backends.h"
#include "tests/support/toy_layer.h"

namespace cortado::test {

inline caffe::NetParameter net_of(const std::string& text) {
  caffe::NetParameter net;
  parse_text(text, "net", net);
  return net;
}

/// A solver parameter from text, with that net as its net_param.
inline caffe::SolverParameter solver_of(const std::string& text, const std::string& net) {
  caffe::SolverParameter parameter;
  parse_text(text, "solver", parameter);
  *parameter.mutable_net_param() = net_of(net);
  return parameter;
}

/// The options of a solver on that backend, with the toy layer.
inline SolverOptions toy_options(const std::string& backend = "reference") {
  static const LayerTable layers = with_toys(LayerTable());
  SolverOptions options;
  options.group = &group_of(backend);
  options.layers = &layers;
  return options;
}

/// Values of all learnable blobs, statistics too, one after the other.
inline std::vector<float> parameters_of(const Net& net) {
  std::vector<float> all;
  for (const Net::Learnable& learnable : net.learnable()) {
    const auto values = learnable.blob->data_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace cortado::test
