#pragma once
#include <string>

#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"

namespace cortado::test {

/// The net of a text called net.prototxt, upgraded.
inline caffe::NetParameter upgraded(const std::string& text) {
  caffe::NetParameter net;
  parse_text(text, "net.prototxt", net);
  upgrade_net(net, "net.prototxt");
  return net;
}

}  // namespace cortado::test
