#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// Published seconds of a net's convolutions at one batch (models/published/convolutions.json).
struct PublishedConvolutions {
  using Plans = std::map<std::string, double>;  ///< "implicit" or "explicit" -> seconds
  std::string source;
  std::map<std::string, std::map<std::string, Plans>> layers;  ///< layer -> direction -> plans

  /// The published seconds; empty where nothing is known.
  std::optional<double> seconds(const std::string& layer, const std::string& direction, const std::string& plan) const;
};

/// The published times of a set and batch; it has no layers if there are none. Throws FileError for a broken file.
PublishedConvolutions published_convolutions(const std::string& set, i64 batch);

/// Published training rates of one node (models/published/nets.json).
struct PublishedNets {
  struct Net {
    std::string name;
    i64 batch;  ///< of the node: its core groups share it
    double images_per_s;
  };
  std::string source;
  int core_groups = 1;
  std::vector<Net> nets;
};

/// The published list of that name ("table3"), or the part of one that has the net; without nets if nothing is known.
PublishedNets published_nets(const std::string& set);

}  // namespace cortado
