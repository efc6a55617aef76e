#pragma once
#include <functional>
#include <string>

#include "core/formats/caffe.pb.h"

namespace cortado {

/// A net as text in Graphviz's language: layers as boxes with name, type and parameters, blobs as ellipses with the
/// shape that `shape_of` knows (empty: none). What a layer computes in place is an ellipse of its own. `net` is
/// filtered: all its layers are drawn.
std::string net_graph(const caffe::NetParameter& net, bool left_to_right,
                      const std::function<std::string(const std::string& blob)>& shape_of);

}  // namespace cortado
