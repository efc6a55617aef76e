#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/types.h"
#include "core/formats/caffe.pb.h"

namespace cortado {

/// Facts of a net that its text does not tell.
struct PictureFacts {
  std::map<std::string, i64> parameters;           ///< learned ones, by layer
  std::set<std::string> frozen;                    ///< layers that have some and learn nothing
  std::map<std::string, std::vector<i64>> shapes;  ///< by blob, with the batch
};

/// A net as an SVG picture: from left to right, in as many rows as it takes. A box has a layer and those in place
/// behind it, the shape of a sample that it makes, and its number of parameters. `net` is filtered.
std::string net_picture(const caffe::NetParameter& net, const PictureFacts& facts);

}  // namespace cortado
