#pragma once
#include <functional>
#include <string>

#include "core/formats/caffe.pb.h"

namespace cortado {

/// A net as text in Graphviz's language. Layers are boxes with name, type and parameters. Blobs are ellipses with the
/// shape that `shape_of` returns (empty means none). A layer's result in place is an ellipse of its own. `net` is
/// filtered: all its layers are drawn.
std::string net_graph(const caffe::NetParameter& net, bool left_to_right,
                      const std::function<std::string(const std::string& blob)>& shape_of);

}  // namespace cortado
