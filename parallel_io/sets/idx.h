#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace cortado {

/// An array of bytes as MNIST's files hold it: magic number, dimensions, values; gzipped or not.
struct IdxArray {
  Shape shape;
  std::vector<std::uint8_t> values;
};

/// Throws FileError for absent, foreign and truncated files, and for types other than bytes.
IdxArray read_idx(const std::string& file);

}  // namespace cortado
