#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace cortado::python {

namespace py = pybind11;

enum class Part { data, diff };

/// The numpy arrays that stand for blobs' values. An array is the blob's memory where that is the host's, float and in
/// Caffe's order. Elsewhere it is a copy, one for a blob, that follows the blob: what Python changed in it goes into
/// the blob before anything is computed, and what the blob then holds comes back. So both kinds read and write alike.
class Arrays {
 public:
  /// Returns the blob's values. `is_moved` means that the memory of the blob's data changes as layers run. Waits.
  py::array of(Blob& blob, Part which, bool is_moved);
  /// Before the blobs are read: writes arrays into their blobs, where Python changed them.
  void write_back();
  /// After the blobs were written: reads them into the arrays that Python still holds.
  void refresh();
  /// From now on all arrays are Python's alone.
  void drop() { copies_.clear(); }

 private:
  struct Copy {
    Blob* blob;
    Part which;
    py::weakref array;
    std::string digest;  ///< of what the blob held when it was last read
  };
  std::vector<Copy> copies_;
};

}  // namespace cortado::python
