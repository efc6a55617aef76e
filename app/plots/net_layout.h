#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"

namespace cortado {

/// A box of a net's picture: a layer with those that work in place on what it makes. Or a passage, through which an
/// edge runs past boxes.
struct NetBox {
  std::vector<const caffe::LayerParameter*> layers;  ///< empty: a passage
  std::vector<std::size_t> from;                     ///< boxes whose values it gets
  std::vector<std::string> notes;                    ///< blobs that it gets and to which no edge leads
  int depth = 0;                                     ///< edges on the longest way from a box without bottoms
  int lane = 0;                                      ///< its place among the boxes of its depth
};

/// The boxes of a net and their places. `net` is filtered and must outlive them. Labels, other second tops of data
/// layers, and values from far before are notes instead of edges. A box stands behind those in its `from`.
std::vector<NetBox> layout_of(const caffe::NetParameter& net);

}  // namespace cortado
