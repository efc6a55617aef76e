#pragma once
#include <string>
#include <vector>

#include "core/formats/weight_files.h"
#include "core/net/net.h"

namespace cortado {

/// The values that one step of a pass leaves. `what` is "conv1: top data", "conv1: gradient of bottom data" or "conv1:
/// gradient of parameter 0".
struct NetValue {
  std::string what;
  Shape shape;
  std::vector<float> values;
};

/// The values of one forward pass (number 0) and, if the net learns, of one backward pass, in order of computation. A
/// layer that does others' work has the name of the last of these, whose tops it makes. Input layers' blobs are filled
/// from `seed`: those of one value per sample with 0, 1, 0, 1, ..., others with values in [-1, 1).
std::vector<NetValue> values_of_pass(Net& net, std::uint64_t seed);

/// Write values to, and read them from, an HDF5 file, a group per value in their order. They throw FileError.
void save_values(const std::vector<NetValue>& values, const std::string& file, const Hdf5Files& hdf5);
std::vector<NetValue> load_values(const std::string& file, const Hdf5Files& hdf5);

/// The largest difference between two arrays.
struct ValueDifference {
  std::string what;
  /// The largest difference over the largest absolute value of both; infinite for other shapes, or NaN in one alone. A
  /// gradient of a parameter counts as at least a hundredth of the largest of its layer. A bias before BatchNorm has a
  /// gradient of nothing but roundings.
  double relative = 0;
  std::string shapes;  ///< "2 3 (6) here, 2 4 (8) there" where they differ
  i64 element = 0;
  float here = 0, there = 0;
};
/// One difference for every value that both have, in order of `here`.
std::vector<ValueDifference> differences_of(const std::vector<NetValue>& here, const std::vector<NetValue>& there);

}  // namespace cortado
