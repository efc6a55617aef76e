#pragma once
#include <cstdint>
#include <string>

#include "core/tensor/blob.h"
#include "parallel_io/sets/raw_file.h"

namespace cortado {

/// An array of bytes as MNIST's files hold it: magic number, dimensions, values. A gzipped one is unpacked to an
/// unnamed file first.
class IdxFile {
 public:
  /// Throws FileError for absent, foreign and truncated files, and for types other than bytes.
  explicit IdxFile(const std::string& name);
  const Shape& shape() const { return shape_; }
  /// Values [first, first + count), by any number of threads.
  void read(i64 first, i64 count, void* to) const { file_.read(begin_ + first, count, to); }

 private:
  std::uint32_t big_endian(i64 offset) const;

  const RawFile file_;
  Shape shape_;
  i64 begin_ = 0;
};

}  // namespace cortado
