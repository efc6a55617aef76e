#pragma once
#include <cstdint>
#include <string>

#include "core/tensor/blob.h"
#include "parallel_io/sets/raw_file.h"

namespace cortado {

/// An array of bytes in the form of MNIST's files: magic number, dimensions, values. A gzipped one is first unpacked to
/// an unnamed file.
class IdxFile {
 public:
  /// Throws FileError for absent, foreign and truncated files, and for types other than bytes.
  explicit IdxFile(const std::string& name);
  const Shape& shape() const { return shape_; }
  /// Reads values [first, first + count). Any number of threads may read.
  void read(i64 first, i64 count, void* to) const { file_.read(begin_ + first, count, to); }

 private:
  std::uint32_t big_endian(i64 offset) const;

  const RawFile file_;
  Shape shape_;
  i64 begin_ = 0;
};

}  // namespace cortado
