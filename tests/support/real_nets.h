#pragma once
#include <string>

#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "layers/all_layers.h"
#include "tests/support/backends.h"

namespace cortado::test {

/// A net of that text, to be trained.
inline caffe::NetParameter training_net(const std::string& text) {
  caffe::NetParameter net;
  parse_text(text, "net", net);
  net.mutable_state()->set_phase(caffe::TRAIN);
  return net;
}

/// Options of a net of the tree's layers on that backend.
inline NetOptions net_options(const std::string& backend) {
  static const LayerTable layers = all_layers();
  NetOptions options;
  options.group = &group_of(backend);
  options.layers = &layers;
  return options;
}

}  // namespace cortado::test
