#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace cortado {

/// Arrays of a file that grow, row after row, as a net runs. HDF5Output writes to it; parallel_io implements it. One
/// thread uses a sink.
class ArraySink {
 public:
  virtual ~ArraySink() = default;
  /// Appends `rows` rows to every array, from values[i] to array i. Afterwards the file is whole and has them, however
  /// the program ends. Throws FileError.
  virtual void append(i64 rows, const std::vector<const float*>& values) = 0;
};

/// Opens sinks. app wires parallel_io's opener into it, so core and layers do not know the format.
class SinkOpener {
 public:
  virtual ~SinkOpener() = default;
  struct Array {
    std::string name;
    Shape row;  ///< of one row; the array has one axis more, in front
  };
  /// Opens a file with these arrays. `keep` rows that an earlier run wrote stay, or as many as there are; 0 begins a
  /// new file. Throws FileError, also where the file that stays has other arrays.
  virtual std::unique_ptr<ArraySink> open(const std::string& file, const std::vector<Array>& arrays,
                                          i64 keep) const = 0;
};

/// Holds a file for one writer of this process until it is dropped. `owner` is for messages, such as "layer 'out' of
/// the training net". Throws FileError where another writer holds it, naming both. Thread-safe.
std::shared_ptr<const void> hold_file(const std::string& file, const std::string& owner);

}  // namespace cortado
