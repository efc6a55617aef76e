#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace cortado {

/// Arrays of a file that grow, row after row, as a net runs: what HDF5Output sees of parallel_io. One thread uses a
/// sink.
class ArraySink {
 public:
  virtual ~ArraySink() = default;
  /// Appends `rows` rows to every array, from values[i] to array i. Whatever ends the program afterwards, the file is
  /// whole and has them. Throws FileError.
  virtual void append(i64 rows, const std::vector<const float*>& values) = 0;
};

/// Opens sinks; app wires parallel_io's into it, so that core and layers need not know the format.
class SinkOpener {
 public:
  virtual ~SinkOpener() = default;
  struct Array {
    std::string name;
    Shape row;  ///< of one row; the array has one axis more, in front
  };
  /// A file with these arrays. `keep`: the first rows of a file that an earlier run made stay, as far as it has so
  /// many; 0: it begins anew. Throws FileError, also where what stays has other arrays.
  virtual std::unique_ptr<ArraySink> open(const std::string& file, const std::vector<Array>& arrays,
                                          i64 keep) const = 0;
};

}  // namespace cortado
